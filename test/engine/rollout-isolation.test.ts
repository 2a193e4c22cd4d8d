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

it("changes three of four tenants without leaking between tenants", async () => {
  await expectChangedApart(fleet, 3);
});
