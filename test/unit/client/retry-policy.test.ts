import { describe, expect, it } from "vitest";
import { RetryBudget } from "../../../provider/client/retry-budget";
import { computeBackoffMs, getFailureHandling } from "../../../provider/client/retry-policy";

describe("getFailureHandling", () => {
  it.each([
    ["POST", true, true, "outcome check"],
    ["POST", false, true, "outcome check"],
    ["POST", true, false, "retry"],
    ["POST", false, false, "fail"],
    ["PATCH", true, true, "retry"],
    ["PATCH", false, true, "fail"],
    ["DELETE", true, true, "retry"],
    ["GET", true, false, "retry"],
    ["GET", false, false, "fail"],
  ])("handles a failed %s: transient %s, outcome unknown %s", (method, isTransient, outcomeUnknown, handling) => {
    expect(getFailureHandling({ isTransient, outcomeUnknown }, method)).toBe(handling);
  });
});

describe("computeBackoffMs", () => {
  it.each([
    [1, 250],
    [2, 500],
    [3, 1_000],
    [7, 16_000],
    [8, 30_000],
    [50, 30_000],
  ])("takes at most the doubled time after %i failures", (failures, maxMs) => {
    expect(computeBackoffMs(failures, 1)).toBe(maxMs);
  });

  it("takes at least half of the time", () => {
    expect(computeBackoffMs(1, 0)).toBe(125);
  });

  it("takes other limits", () => {
    expect(computeBackoffMs(3, 1, { baseMs: 10, maxMs: 30 })).toBe(30);
    expect(computeBackoffMs(1, 1, { baseMs: 10, maxMs: 30 })).toBe(10);
  });
});

describe("retry budget", () => {
  const countRetries = (budget: RetryBudget): number => {
    let count = 0;
    while (budget.consume()) count += 1;
    return count;
  };

  it("allows ten retries", () => {
    expect(countRetries(new RetryBudget())).toBe(10);
  });

  it("grows by one for ten successes", () => {
    const budget = new RetryBudget();
    for (let success = 0; success < 35; success += 1) budget.refill();
    expect(countRetries(budget)).toBe(13);
  });

  it("isn't refilled by nine successes", () => {
    const budget = new RetryBudget();
    countRetries(budget);
    for (let success = 0; success < 9; success += 1) budget.refill();
    expect(budget.consume()).toBe(false);
  });

  it("holds at most a hundred retries", () => {
    const budget = new RetryBudget();
    for (let success = 0; success < 2_000; success += 1) budget.refill();
    expect(countRetries(budget)).toBe(100);
  });
});
