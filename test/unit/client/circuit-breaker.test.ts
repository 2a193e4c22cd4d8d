import { beforeEach, describe, expect, it } from "vitest";
import { CircuitBreaker } from "../../../provider/client/circuit-breaker";

let nowMs = 0;
let breaker: CircuitBreaker;

beforeEach(() => {
  nowMs = 1_000;
  breaker = new CircuitBreaker({ now: () => nowMs, threshold: 3 });
});

function recordFailures(count: number): void {
  for (let failure = 1; failure <= count; failure += 1) breaker.recordFailure(new Error(`failure ${failure}`));
}

describe("circuit breaker", () => {
  it("opens after six bursts by default", () => {
    breaker = new CircuitBreaker({ now: () => nowMs });
    recordFailures(5);
    expect(breaker.state).toBe("closed");
    recordFailures(1);
    expect(breaker.state).toBe("open");
  });

  it("admits requests until it opens", () => {
    recordFailures(2);
    expect(breaker.admit()).toBeUndefined();
    expect(breaker.openingFailure).toBeUndefined();
  });

  it("rejects requests with the last failure", () => {
    recordFailures(3);
    expect(breaker.admit()).toMatchObject({ message: "failure 3" });
    expect(breaker.openingFailure).toMatchObject({ message: "failure 3" });
  });

  it("keeps the message that the failure had", () => {
    const error = new Error("short");
    recordFailures(2);
    breaker.recordFailure(error);
    error.message = "long";
    expect(breaker.openingFailure).toEqual({ error, message: "short" });
  });

  it("is half-open after 30 seconds", () => {
    recordFailures(3);
    nowMs += 29_999;
    expect(breaker.state).toBe("open");
    nowMs += 1;
    expect(breaker.state).toBe("half-open");
    expect(breaker.openingFailure).toBeUndefined();
  });

  it("admits one probe in 30 seconds", () => {
    recordFailures(3);
    nowMs += 30_000;
    expect(breaker.admit()).toBeUndefined();
    expect(breaker.admit()).toBeDefined();
    nowMs += 30_000;
    expect(breaker.admit()).toBeUndefined();
  });

  it("stays open for 30 seconds after a failed probe", () => {
    recordFailures(3);
    nowMs += 40_000;
    breaker.admit();
    nowMs += 5_000;
    recordFailures(1);
    nowMs += 29_999;
    expect(breaker.state).toBe("open");
    nowMs += 1;
    expect(breaker.state).toBe("half-open");
  });

  it("closes after a success", () => {
    recordFailures(3);
    breaker.close();
    expect(breaker.state).toBe("closed");
    recordFailures(2);
    expect(breaker.state).toBe("closed");
  });

  it("counts failures of one burst once", () => {
    const { burst } = breaker;
    for (let failure = 0; failure < 3; failure += 1) breaker.recordFailure(new Error("failure"), burst);
    expect(breaker.state).toBe("closed");
    expect(breaker.burst).toBe(burst + 1);
  });

  it("doesn't stay open longer for late failures of an old burst", () => {
    const { burst } = breaker;
    recordFailures(3);
    nowMs += 20_000;
    breaker.recordFailure(new Error("late"), burst);
    nowMs += 10_000;
    expect(breaker.state).toBe("half-open");
  });
});
