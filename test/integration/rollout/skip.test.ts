import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openSqlite } from "../../../provider/rollout/journal/sqlite-database";
import { skippingStories } from "./skip";

const folder = mkdtempSync(join(tmpdir(), "email-security-skip-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;

skippingStories(async () => {
  const database = await openSqlite(join(folder, `${count++}.db`));
  await database.query("PRAGMA synchronous = OFF");
  return database;
});
