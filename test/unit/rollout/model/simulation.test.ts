import { describe, expect, it } from "vitest";
import { chooseNextStep } from "../../../../provider/rollout/model/next-step";
import { evaluateFormula, type SimulationParameters, simulateRollout, USUAL } from "../../../bench/rollout-simulation";

/** The permitted difference between calculation and simulation, in percent. */
const APART = 15;

describe("a simulated rollout", () => {
  it.each<Partial<SimulationParameters>>([
    { tenants: 10, concurrent: 1 },
    { tenants: 300, concurrent: 1 },
    { tenants: 300, concurrent: 8 },
    { tenants: 300, concurrent: 8, cores: 2 },
    { tenants: 1_000, concurrent: 32, requestsPerSecond: 10 },
    { tenants: 1_000, concurrent: 32, requestsPerSecond: 20, addresses: 4, cores: 32 },
    { tenants: 1_000, concurrent: 8, requestsPerSecond: 100, addresses: 4 },
    { tenants: 1_000, concurrent: 64, cores: 32, requestsPerSecond: 100 },
    { tenants: 10_000, concurrent: 32, cores: 8 },
  ])("matches the calculated durations: %o", (some) => {
    const parameters = { ...USUAL, ...some };
    const paper = evaluateFormula(parameters);
    const simulated = simulateRollout(chooseNextStep, parameters);
    expect(simulated).toMatchObject({ state: "done", done: parameters.tenants, requests: paper.requests });
    expect(computeDeviation(simulated.planningMs, paper.planningMs), "planning").toBeLessThan(APART);
    expect(computeDeviation(simulated.changingMs, paper.changingMs), "changing").toBeLessThan(APART);
  });

  it("gives the same result only for the same seed", () => {
    const parameters = { ...USUAL, tenants: 200, failurePercent: 1, crashEveryMs: 20_000 };
    const once = simulateRollout(chooseNextStep, parameters);
    expect(simulateRollout(chooseNextStep, parameters)).toEqual(once);
    expect(simulateRollout(chooseNextStep, { ...parameters, seed: 2 }).changingMs).not.toBe(once.changingMs);
  });

  it("respects the request rate limit", () => {
    const parameters = { ...USUAL, tenants: 300, concurrent: 64, cores: 32, requestsPerSecond: 20 };
    const { planningMs, changingMs, requests } = simulateRollout(chooseNextStep, parameters);
    expect(requests / ((planningMs + changingMs) / 1_000)).toBeLessThanOrEqual(20);
  });

  it("loses no tenant in crashes", () => {
    const stopped = simulateRollout(chooseNextStep, { ...USUAL, failurePercent: 5 });
    expect(stopped.state).toBe("stopped");
    expect(stopped.failed).toBeLessThan(USUAL.tenants / 20);
    const crashed = simulateRollout(chooseNextStep, { ...USUAL, crashEveryMs: 30_000 });
    expect(crashed).toMatchObject({ state: "done", done: USUAL.tenants });
    expect(crashed.crashes).toBeGreaterThan(3);
    expect(crashed.attempts).toBeGreaterThan(USUAL.tenants);
    expect(crashed.attempts).toBeLessThanOrEqual(USUAL.tenants + 8 * crashed.crashes);
  });
});

function computeDeviation(a: number, b: number): number {
  return (Math.abs(a - b) / b) * 100;
}
