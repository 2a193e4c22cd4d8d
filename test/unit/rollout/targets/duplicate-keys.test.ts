import { inspect } from "node:util";
import { expect, it } from "vitest";
import { findSameKeys, SameKeyError } from "../../../../provider/rollout/targets/find-same-keys";
import { buildTarget } from "../../../support/rollout-target";

it("groups tenants with the same key without showing it", () => {
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((name) => buildTarget(name)) as [
    ReturnType<typeof buildTarget>,
    ...ReturnType<typeof buildTarget>[],
  ];
  const elsewhere = buildTarget("elsewhere", {}, { baseUrl: "https://other.example" });
  const keys = new Map(
    [a, b, c, d, e, elsewhere].map((target, index) => [target, ["one", "two", "one", "three", "two", "one"][index]]),
  ) as Map<ReturnType<typeof buildTarget>, string>;
  const groups = findSameKeys(keys);
  expect(groups.map((group) => group.map(({ name }) => name))).toEqual([
    ["a", "c", "elsewhere"],
    ["b", "e"],
  ]);
  const error = new SameKeyError(groups);
  expect(error.code).toBe("ERR_ROLLOUT_SAME_KEY");
  expect(error.message.split("\n").slice(1)).toEqual([
    '  "a" (tenants.yaml:1), "c" (tenants.yaml:1), "elsewhere" (tenants.yaml:1)',
    '  "b" (tenants.yaml:1), "e" (tenants.yaml:1)',
  ]);
  expect(inspect(groups)).not.toMatch(/one|two|three/);
});

it("finds no groups when all keys differ", () => {
  const keys = new Map([
    [buildTarget("a"), "one"],
    [buildTarget("b"), "two"],
    [buildTarget("c"), "three"],
  ]);
  expect(findSameKeys(keys)).toEqual([]);
});
