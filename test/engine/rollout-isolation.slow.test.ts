import { afterAll, beforeAll, expect, it } from "vitest";
import type { Fleet } from "../support/fleet";
import { selectSize } from "../support/matrix-sampling";
import { expectChangedApart, KEY, startFleetWithKeys, watchRun } from "./rollout-isolation";

/** As many tenants as a large customer has, in the long form of the tests. Only then are all of them changed. */
const ALL = selectSize("rollout-isolation", 300, 80);
/** Whether all tenants are changed through the engine. rollout-isolation.test.ts changes a few. */
const IS_CHANGED = selectSize("rollout-isolation", true, false);

let fleet: Fleet;
const formatTenantNames = (count: number): string[] => fleet.names.slice(0, count);

beforeAll(async () => {
  fleet = await startFleetWithKeys(ALL);
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it(`plans ${ALL} tenants with a key each, in the memory that it plans 10 with`, async () => {
  // With a large heap, Node.js delays garbage collection, which results in peaks of 130 MB and 210 MB. A small heap
  // shows the memory that is really retained.
  const small = { NODE_OPTIONS: "--max-old-space-size=48 --max-semi-space-size=1" };
  const few = fleet.start(small, "rollout", "--only", ...formatTenantNames(10));
  const { peakMb: fewPeakMb } = await watchRun(fleet, few);
  expect(await few.result).toMatchObject({ code: 2 });
  fleet.takeRequests();

  const all = fleet.start(small, "rollout");
  const { peakMb, keysSeen, wrong } = await watchRun(fleet, all);
  const { code, output } = await all.result;
  expect({ code, wrong, keys: [...keysSeen] }).toEqual({ code: 2, wrong: [], keys: [] });
  expect(output.match(KEY)).toBeNull();
  const requestsByCaller = Object.groupBy(
    fleet.takeRequests(),
    ({ tenant, keyLabel, method }) => `${method} ${tenant} ${keyLabel}`,
  );
  const requestCounts = Object.entries(requestsByCaller).map(
    ([caller, requests = []]) => `${caller} ${requests.length}`,
  );
  expect(requestCounts.sort()).toEqual(fleet.names.map((name) => `GET ${name} ci 3`).sort());
  console.info(`the coordinator's peak: ${fewPeakMb} MB for 10 tenants, ${peakMb} MB for ${ALL}`);
  expect(peakMb).toBeLessThan(1.5 * fewPeakMb);
});

it.runIf(IS_CHANGED)(`keeps the changes of ${ALL} tenants apart`, async () => {
  await expectChangedApart(fleet, ALL);
});
