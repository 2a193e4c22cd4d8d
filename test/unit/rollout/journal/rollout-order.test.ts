import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compareRollouts,
  isPossiblyLater,
  type RolloutOrder,
} from "../../../../provider/rollout/journal/rollout-order";

const buildOrder = (id: string, seq: number | undefined, startedAtMs: number): RolloutOrder => ({
  id,
  seq,
  startedAtMs,
});

describe("the order of two rollouts", () => {
  it("follows sequence numbers regardless of clocks", () => {
    const hotfix = buildOrder("a", 2, 0);
    const earlier = buildOrder("b", 1, 3_600_000);
    expect([hotfix, earlier].sort(compareRollouts)).toEqual([earlier, hotfix]);
    expect(isPossiblyLater(hotfix, earlier)).toBe(true);
    expect(isPossiblyLater(earlier, hotfix)).toBe(false);
  });

  it("follows start times for equal numbers", () => {
    const all = [buildOrder("b", 1, 5), buildOrder("c", 1, 4), buildOrder("a", 1, 5)];
    expect(all.sort(compareRollouts).map(({ id }) => id)).toEqual(["c", "a", "b"]);
  });

  it("treats each of two rollouts with equal numbers as possibly later", () => {
    const [a, b] = [buildOrder("a", 4, 1), buildOrder("b", 4, 2)];
    expect(isPossiblyLater(a, b)).toBe(true);
    expect(isPossiblyLater(b, a)).toBe(true);
  });

  it("follows start times in a journal without numbers", () => {
    const [a, b] = [buildOrder("a", undefined, 1), buildOrder("b", undefined, 2)];
    expect(compareRollouts(a, b)).toBeLessThan(0);
    expect(isPossiblyLater(a, b)).toBe(false);
    expect(isPossiblyLater(b, a)).toBe(true);
  });

  it("puts rollouts without a number before all numbered ones", () => {
    const [old, fresh] = [buildOrder("a", undefined, 9), buildOrder("b", 1, 1)];
    expect([fresh, old].sort(compareRollouts)).toEqual([old, fresh]);
    expect(isPossiblyLater(fresh, old)).toBe(true);
    expect(isPossiblyLater(old, fresh)).toBe(false);
  });

  it("is total and independent of input order", () => {
    const any = fc.record({
      id: fc.constantFrom("a", "b", "c", "d"),
      seq: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      startedAtMs: fc.integer({ min: 0, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 8 }), fc.infiniteStream(fc.nat()), (rollouts, numbers) => {
        const shuffled = rollouts
          .map((rollout) => ({ rollout, order: numbers.next().value ?? 0 }))
          .sort((a, b) => a.order - b.order)
          .map(({ rollout }) => rollout);
        expect(shuffled.sort(compareRollouts)).toEqual(rollouts.toSorted(compareRollouts));
      }),
    );
  });
});
