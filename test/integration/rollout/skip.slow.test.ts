import { afterAll, beforeAll } from "vitest";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import { type Postgres, startPostgres } from "../../support/postgres";
import { registerSkipTests } from "./skip";

let postgres: Postgres;
let count = 0;

beforeAll(async () => {
  postgres = await startPostgres();
});

afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
});

registerSkipTests(async () => await openPostgres(await postgres.createDatabase(`skip${count++}`)));
