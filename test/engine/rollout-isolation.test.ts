import { afterAll, beforeAll, it } from "vitest";
import type { Fleet } from "../support/fleet";
import { expectChangedApart, startFleetWithKeys } from "./rollout-isolation";

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleetWithKeys(4);
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("changes three of four tenants with a key each, and nothing of one is found at another", async () => {
  await expectChangedApart(fleet, 3);
});
