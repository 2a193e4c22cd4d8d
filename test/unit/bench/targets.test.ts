import { expect, it } from "vitest";
import type { Observation } from "../../bench/measurement";
import { buildMeasurementRows } from "../../bench/measurement-rows";
import { evaluateTargets } from "../../bench/targets";

const TARGET_NAME = "time per additional entry of the longest list";

/** Returns the measured result for lists of three sizes with the given durations. */
function measureTarget(seconds: (count: number) => number | undefined): number | undefined {
  const observations = [1_000, 10_000, 50_000].flatMap((count): Observation[] => {
    const duration = seconds(count);
    const flat = { peer: "growth", operation: "no-op up", count, seconds: 2 + count / 1_000 } as const;
    const refresh = { ...flat, operation: "refresh" } as const;
    return [flat, ...(duration === undefined ? [] : [{ ...refresh, seconds: duration }])];
  });
  return evaluateTargets(buildMeasurementRows(observations)).find(({ label }) => label === TARGET_NAME)?.measured;
}

it("measures growth by the fastest-growing operation, without the fixed cost", () => {
  expect(measureTarget((count) => 2 + count / 1_000)).toBeCloseTo(1);
  expect(measureTarget((count) => 2 + (count / 1_000) ** 1.2)).toBeCloseTo(1.416, 2);
});

it("misses the target when one size could not be measured", () => {
  expect(measureTarget((count) => (count === 50_000 ? undefined : 2 + count / 1_000))).toBe(Number.POSITIVE_INFINITY);
});
