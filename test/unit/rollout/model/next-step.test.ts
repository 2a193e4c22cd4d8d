import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  chooseNextStep,
  formatClosedHours,
  type RunState,
  STOPPED_BY_PERSON,
  type WaveRunState,
} from "../../../../provider/rollout/model/next-step";
import { SETTLED_STATES, type TenantState, type Wave } from "../../../../provider/rollout/model/wave";
import { type VirtualPlan, VirtualRollout, type VirtualTenant } from "../../../bench/virtual-rollout";

const NOW = 1_000;
const HEALTHY = { isHealthy: true, message: "well" };
const UNHEALTHY = { isHealthy: false, message: "the command ended with 1" };

describe("chooseNextStep", () => {
  it("begins the first unfinished wave", () => {
    expect(chooseNextStep(buildRunState([buildWave("canary", { pending: 2 })]), NOW)).toEqual({
      kind: "begin",
      wave: 0,
    });
    expect(chooseNextStep(buildRunState([buildDoneWave("canary"), buildWave("rest", { pending: 2 })]), NOW)).toEqual({
      kind: "begin",
      wave: 1,
    });
  });

  it("dispatches as many tenants as the wave has free slots, in order", () => {
    const running = buildWave("canary", { pending: 3, running: 1 }, { state: "running", maxConcurrent: 3 });
    const pending = buildTenants("a", "b", "c");
    expect(chooseNextStep(buildRunState([running], { pending }), NOW)).toEqual({
      kind: "dispatch",
      wave: 0,
      tenants: ["a", "b"],
    });
    expect(chooseNextStep(buildRunState([running], { pending, capacity: 1 }), NOW)).toMatchObject({ tenants: ["a"] });
    expect(chooseNextStep(buildRunState([running], { pending, capacity: 0 }), NOW)).toEqual({ kind: "wait" });
  });

  it("pauses a closed wave once running tenants have finished", () => {
    const closed = [{ text: "Mon 00:00–Tue 06:00", from: 0, to: 30 * 60, timeZone: "UTC" }];
    const [openMs, closedMs] = [Date.UTC(2026, 10, 22, 23, 59), Date.UTC(2026, 10, 23)];
    const pause = {
      kind: "pause",
      wave: 0,
      untilMs: Date.UTC(2026, 10, 24, 6),
      reason: "The wave rest doesn't start tenants in these hours (Mon 00:00–Tue 06:00), before 2026-11-24 06:00 UTC.",
    };
    const pending = buildTenants("a");
    const toBegin = buildWave("rest", { pending: 2 }, { closed });
    expect(chooseNextStep(buildRunState([toBegin]), openMs)).toEqual({ kind: "begin", wave: 0 });
    expect(chooseNextStep(buildRunState([toBegin]), closedMs)).toEqual(pause);
    expect(chooseNextStep(buildRunState([toBegin], { anyTime: true }), closedMs)).toEqual({ kind: "begin", wave: 0 });
    const midst = buildWave("rest", { pending: 2, done: 1 }, { closed, state: "running", maxConcurrent: 2 });
    expect(chooseNextStep(buildRunState([midst], { pending }), closedMs)).toEqual(pause);
    const busy = buildWave("rest", { pending: 2, running: 1 }, { closed, state: "running", maxConcurrent: 2 });
    expect(chooseNextStep(buildRunState([busy], { pending }), closedMs)).toEqual({ kind: "wait" });
    expect(chooseNextStep(buildRunState([busy], { pending }), openMs)).toMatchObject({ kind: "dispatch" });
    // Closed hours don't matter if nothing is to be changed.
    expect(chooseNextStep(buildRunState([buildWave("rest", { unchanged: 2 }, { closed })]), closedMs)).toMatchObject({
      kind: "begin",
    });
  });

  it("holds back tenants of a saturated service", () => {
    const running = buildWave("canary", { pending: 3 }, { state: "running", maxConcurrent: 3 });
    const pending = [...buildTenants("a", "b"), { name: "c", address: "https://other.example" }];
    const step = chooseNextStep(
      buildRunState([running], { pending, freeSlotsByAddress: new Map([[ADDRESS, 1]]) }),
      NOW,
    );
    expect(step).toEqual({ kind: "dispatch", wave: 0, tenants: ["a", "c"] });
    const freeSlotsByAddress = new Map([[ADDRESS, -1]]);
    expect(chooseNextStep(buildRunState([running], { pending: buildTenants("a"), freeSlotsByAddress }), NOW)).toEqual({
      kind: "wait",
    });
  });

  it("waits for running tenants before it stops", () => {
    const failing = buildWave("canary", { pending: 5, running: 1, failed: 1 }, { state: "running" });
    expect(chooseNextStep(buildRunState([failing]), NOW)).toEqual({ kind: "wait" });
    const failed = buildWave("canary", { pending: 5, failed: 1 }, { state: "running" });
    expect(chooseNextStep(buildRunState([failed]), NOW)).toEqual({
      kind: "stop",
      reason: "1 tenant failed in the wave canary, which tolerates 0.",
    });
    const busy = buildWave("canary", { pending: 5, queued: 1 }, { state: "running" });
    expect(chooseNextStep(buildRunState([busy], { isStopping: true }), NOW)).toEqual({ kind: "wait" });
    const idle = buildWave("canary", { pending: 5 }, { state: "running" });
    expect(chooseNextStep(buildRunState([idle], { isStopping: true }), NOW)).toEqual({
      kind: "stop",
      reason: STOPPED_BY_PERSON,
    });
  });

  it("counts failures across all started waves", () => {
    const first = buildDoneWave("first", { done: 3, failed: 2 });
    const second = buildWave("second", { pending: 4, failed: 1 }, { state: "running", tolerated: 2 });
    expect(chooseNextStep(buildRunState([first, second], { tolerated: 2 }), NOW)).toEqual({
      kind: "stop",
      reason: "3 tenants failed, and the rollout tolerates 2.",
    });
    expect(chooseNextStep(buildRunState([first, second], { tolerated: 3 }), NOW)).toEqual({ kind: "wait" });
  });

  it("ignores failures of waves that are done, apart from the total", () => {
    const first = buildDoneWave("first", { done: 3, failed: 3 });
    expect(chooseNextStep(buildRunState([first, buildWave("second", { pending: 1 })]), NOW)).toEqual({
      kind: "begin",
      wave: 1,
    });
  });

  it("ignores failed plans of waves that haven't begun", () => {
    const waves = [buildWave("first", { pending: 1 }), buildWave("second", { failed: 3 })];
    expect(chooseNextStep(buildRunState(waves, { tolerated: 2 }), NOW)).toEqual({ kind: "begin", wave: 0 });
  });

  it("counts queued tenants as running", () => {
    const running = buildWave("canary", { pending: 2, queued: 1, running: 1 }, { state: "running", maxConcurrent: 3 });
    const step = chooseNextStep(buildRunState([running], { pending: buildTenants("a", "b") }), NOW);
    expect(step).toEqual({ kind: "dispatch", wave: 0, tenants: ["a"] });
  });

  it("names each closed time once", () => {
    const hours = { from: 0, to: 30 * 60, timeZone: "UTC" };
    const closed = ["Mon", "Tue", "Mon"].map((text) => ({ ...hours, text }));
    expect(formatClosedHours(closed)).toBe("Mon, Tue");
  });

  it("soaks after an unreviewed change only if tenants follow", () => {
    const unreviewed = buildWave(
      "canary",
      { unchanged: 1 },
      { state: "running", soakMs: 500, unreviewed: [{ name: "a", sinceMs: 0 }] },
    );
    const soak = { kind: "soak", wave: 0, untilMs: NOW + 500 };
    expect(chooseNextStep(buildRunState([unreviewed, buildWave("rest", { pending: 1 })]), NOW)).toEqual(soak);
    expect(chooseNextStep(buildRunState([unreviewed, buildWave("rest", { unchanged: 1 })]), NOW)).toMatchObject({
      kind: "settle",
    });
  });

  it("opens the gate of a last wave despite its own pending tenants", () => {
    const gated = buildWave("canary", { pending: 1, done: 1 }, { state: "gated", gate: true });
    expect(chooseNextStep(buildRunState([gated]), NOW)).toEqual({ kind: "settle", wave: 0 });
  });

  it.each([
    [{ gate: true }, undefined, "The wave canary is finished, and its gate waits for approval."],
    [{}, "canary", "The wave canary is finished, and the rollout was to pause after it."],
  ])("gives the reason of a pause after a wave: %j, until %s", (options, until, reason) => {
    const waves = [
      buildWave("canary", { done: 1 }, { state: "running", ...options }),
      buildWave("rest", { pending: 1 }),
    ];
    expect(chooseNextStep(buildRunState(waves, { until }), NOW)).toMatchObject({ kind: "hand-over", reason });
  });

  it("gives the reason of a requested stop", () => {
    const step = chooseNextStep(buildRunState([buildWave("canary", { pending: 5 })], { isStopping: true }), NOW);
    expect(step).toEqual({ kind: "stop", reason: "It was stopped by a person." });
  });

  it("runs the phases of a wave in order", () => {
    const rest = buildWave("rest", { pending: 1 });
    const buildCanary = (more: Partial<WaveRunState>): WaveRunState => ({
      ...buildWave("canary", { done: 2 }, { soakMs: 500, gate: true, health: { timeoutMs: 1 } }),
      ...more,
    });
    const stepAt = (more: Partial<WaveRunState>) => chooseNextStep(buildRunState([buildCanary(more), rest]), NOW);
    expect(stepAt({ state: "running" })).toEqual({ kind: "soak", wave: 0, untilMs: NOW + 500 });
    expect(stepAt({ state: "soaking", soakUntilMs: NOW + 1 })).toEqual({ kind: "wait", untilMs: NOW + 1 });
    expect(stepAt({ state: "soaking", soakUntilMs: NOW })).toEqual({ kind: "check", wave: 0 });
    expect(stepAt({ state: "checking" })).toEqual({ kind: "check", wave: 0 });
    expect(stepAt({ state: "checking", health: UNHEALTHY })).toEqual({
      kind: "stop",
      reason: "The wave canary is unhealthy: the command ended with 1",
    });
    expect(stepAt({ state: "checking", health: HEALTHY })).toMatchObject({ kind: "hand-over", isGate: true });
    expect(stepAt({ state: "gated", health: HEALTHY, isApproved: true })).toEqual({ kind: "settle", wave: 0 });
  });

  it("waits after the wave named by --until, even without a gate", () => {
    const waves = [buildWave("canary", { done: 1 }, { state: "running" }), buildWave("rest", { pending: 1 })];
    expect(chooseNextStep(buildRunState(waves, { until: "canary" }), NOW)).toMatchObject({
      kind: "hand-over",
      isGate: false,
    });
    expect(chooseNextStep(buildRunState(waves), NOW)).toEqual({ kind: "settle", wave: 0 });
  });

  it("skips the gate when nothing changed or nothing is left", () => {
    const waveFields = { soakMs: 500, gate: true, health: { timeoutMs: 1 }, state: "running" } as const;
    const unchanged = buildWave("canary", { unchanged: 3 }, waveFields);
    expect(chooseNextStep(buildRunState([unchanged, buildWave("rest", { pending: 1 })]), NOW)).toEqual({
      kind: "settle",
      wave: 0,
    });
    const last = buildWave("canary", { done: 3 }, { gate: true, state: "running" });
    expect(chooseNextStep(buildRunState([last, buildWave("rest", { unchanged: 1 })]), NOW)).toEqual({
      kind: "settle",
      wave: 0,
    });
  });

  it("finishes when all waves are done", () => {
    expect(chooseNextStep(buildRunState([buildDoneWave("canary"), buildDoneWave("rest")]), NOW)).toEqual({
      kind: "finish",
    });
    for (const state of ["planned", "waiting", "stopped", "done"] as const) {
      expect(chooseNextStep(buildRunState([buildWave("canary", { pending: 1 })], { state }), NOW)).toEqual({
        kind: "wait",
      });
    }
  });
});

describe("randomly generated rollouts", () => {
  it("keep all guarantees and finish", () => {
    fc.assert(
      fc.property(generateScenario(), (scenario) => {
        const witness = new Witness(scenario);
        witness.runToEnd();
        expect(witness.rollout.journal.state).toBe("done");
        // A tenant whose plan failed isn't retried: it needs a new plan.
        for (const { name, state, hasPlan, attempt } of witness.rollout.journal.tenants.values()) {
          expect(SETTLED_STATES, name).toContain(state);
          expect(state === "done", name).toBe(hasPlan);
          expect(attempt > 0, name).toBe(hasPlan);
        }
      }),
      { numRuns: 600 },
    );
  });

  it("start no tenant when more plans failed than tolerated", () => {
    const failedPlans = generateScenario({ plans: ["pending", "failed"], tolerated: 1 });
    let stopped = 0;
    fc.assert(
      fc.property(failedPlans, (scenario) => {
        const witness = new Witness(scenario);
        witness.runToEnd();
        if (witness.rollout.journal.state === "stopped") stopped += 1;
      }),
      { numRuns: 300 },
    );
    expect(stopped).toBeGreaterThan(0);
  });

  it("reach exactly tolerated + maxConcurrent failures", () => {
    for (const [maxConcurrent, tolerated] of [
      [1, 0],
      [1, 2],
      [3, 0],
      [3, 2],
    ] as const) {
      const scenario = buildFailingScenario(maxConcurrent, tolerated);
      const witness = new Witness(scenario);
      expect(witness.rollout.run({ retry: false })).toBe("stopped");
      expect(witness.rollout.journal.waves[0]?.counts.failed).toBe(tolerated + maxConcurrent);
    }
  });
});

/** A rollout, and all events while it runs. */
interface RolloutScenario {
  readonly waves: readonly Wave[];
  readonly tolerated: number | undefined;
  readonly until: string | undefined;
  readonly capacity: number;
  readonly limits: readonly (number | undefined)[];
  readonly tenants: readonly TenantFate[];
  /** The results of the health checks after waves, in order; then healthy. */
  readonly looks: readonly boolean[];
  /** The times at which a person asks for a stop. */
  readonly stopsAtMs: readonly number[];
  /** The times at which the coordinator dies and another one continues. */
  readonly diesAtMs: readonly number[];
  /** The times and durations for which another rollout occupies a slot at a service. */
  readonly elsewhere: readonly { readonly address: number; readonly atMs: number; readonly forMs: number }[];
}

interface TenantFate {
  readonly planned: "pending" | "unchanged" | "failed";
  readonly address: number;
  readonly lastsMs: number;
  /** The number of failures before it succeeds. */
  readonly failures: number;
}

function generateScenario({
  plans = ["pending", "pending", "pending", "unchanged"],
  tolerated,
}: {
  plans?: TenantFate["planned"][];
  tolerated?: number;
} = {}): fc.Arbitrary<RolloutScenario> {
  const few = fc.nat({ max: tolerated ?? 2 });
  const time = fc.nat({ max: 300 });
  const fate = fc.record({
    planned: fc.constantFrom(...plans),
    address: fc.nat({ max: 2 }),
    lastsMs: fc.nat({ max: 50 }),
    failures: fc.constantFrom(0, 0, 0, 1, 2),
  });
  const oneWave = fc.record({
    fates: fc.array(fate, { maxLength: 9 }),
    maxConcurrent: fc.integer({ min: 1, max: 5 }),
    tolerated: few,
    soakMs: fc.constantFrom(0, 0, 40),
    gate: fc.boolean(),
    isChecked: fc.boolean(),
  });
  return fc
    .record({
      waves: fc.array(oneWave, { maxLength: 4 }),
      tolerated: fc.option(fc.nat({ max: 4 }), { nil: undefined }),
      until: fc.option(fc.constantFrom("wave-0", "wave-1", "wave-2"), { nil: undefined }),
      capacity: fc.integer({ min: 1, max: 6 }),
      limits: fc.tuple(...[0, 1, 2].map(() => fc.constantFrom(undefined, 1, 2, 3))),
      looks: fc.array(fc.boolean(), { maxLength: 3 }),
      stopsAtMs: fc.array(time, { maxLength: 2 }),
      diesAtMs: fc.array(time, { maxLength: 2 }),
      elsewhere: fc.array(fc.record({ address: fc.nat({ max: 2 }), atMs: time, forMs: time }), {
        maxLength: 3,
      }),
    })
    .map(({ waves, ...rest }) => ({
      ...rest,
      waves: waves.map(({ fates, isChecked, ...more }, index) => ({
        ...more,
        name: `wave-${index}`,
        tenants: fates.map((_, position) => `${index}.${position}`),
        ...(isChecked ? { health: { timeoutMs: 1 } } : {}),
      })),
      tenants: waves.flatMap(({ fates }) => fates),
    }));
}

function buildFailingScenario(maxConcurrent: number, tolerated: number): RolloutScenario {
  const names = Array.from({ length: 20 }, (_, position) => `0.${position}`);
  return {
    waves: [{ ...PLAIN, name: "wave-0", maxConcurrent, tolerated, tenants: names }],
    tolerated: undefined,
    until: undefined,
    capacity: 100,
    limits: [],
    // The first tenants finish early, so that all slots are in use while only the tolerated number has failed.
    tenants: names.map((_, index) => ({
      planned: "pending",
      address: 0,
      lastsMs: index < tolerated ? 1 : 10,
      failures: 1,
    })),
    looks: [],
    stopsAtMs: [],
    diesAtMs: [],
    elsewhere: [],
  };
}

/** Runs a rollout and checks its guarantees with independent counts of the tenants' events. */
class Witness {
  readonly rollout: VirtualRollout;
  readonly #scenario: RolloutScenario;
  readonly #fates: ReadonlyMap<string, TenantFate>;
  readonly #looks: boolean[];
  readonly #underWay = new Map<string, VirtualTenant>();
  readonly #failed = new Map<string, VirtualTenant>();
  readonly #failures = new Map<string, number>();
  /** By wave: when its last tenant finished, in milliseconds and as an event count. */
  readonly #lastThrough = new Map<number, { readonly atMs: number; readonly moment: number }>();
  readonly #healthyMoments = new Map<string, number>();
  readonly #approved = new Map<number, number>();
  #moment = 0;
  #until: string | undefined;

  constructor(scenario: RolloutScenario) {
    const names = scenario.waves.flatMap(({ tenants }) => tenants);
    this.#scenario = scenario;
    this.#fates = new Map(names.map((name, index) => [name, scenario.tenants[index] as TenantFate]));
    this.#looks = [...scenario.looks];
    const plan: VirtualPlan = {
      waves: scenario.waves,
      tolerated: scenario.tolerated,
      capacity: scenario.capacity,
      addressOf: (name) => String(this.#fate(name).address),
      limitOf: (address) => scenario.limits[Number(address)],
      plannedAs: (name) => this.#fate(name).planned,
    };
    this.rollout = new VirtualRollout(chooseNextStep, plan, {
      change: (tenant, attempt, through) => this.#change(tenant, attempt, through),
      check: (wave) => this.#check(wave),
    });
    this.rollout.onStep = (step) => {
      if (step.kind === "stop" || step.kind === "finish") expect(this.#underWay.size).toBe(0);
    };
    this.#plot();
  }

  /** Resumes the rollout each time it stops, until nothing is left or nothing helps. */
  runToEnd(): void {
    const { journal } = this.rollout;
    const most = 3 * (1 + this.#scenario.tenants.length + this.#scenario.waves.length) + 10;
    let until = this.#scenario.until;
    let attempts = 0;
    for (let runs = 0; runs < most; runs++) {
      const mayRetry = journal.state === "stopped" || journal.state === "done";
      const gated = journal.waves.findIndex(({ state }) => state === "gated");
      if (gated >= 0 && journal.waves[gated]?.wave.name !== until) this.#approved.set(gated, ++this.#moment);
      // Retried tenants no longer count as failed.
      if (mayRetry) this.#failed.clear();
      this.#until = until;
      const state = this.rollout.run({ until, retry: mayRetry });
      // A rollout is also done when its failures are within the tolerance; the next run retries them.
      if (state === "done" && this.#failed.size === 0) return;
      until = undefined;
      const attemptCount = [...journal.tenants.values()].reduce((sum, { attempt }) => sum + attempt, 0);
      // The rollout stops because too many plans failed, and there is nothing to retry.
      if (state === "stopped" && mayRetry && attemptCount === attempts && this.#areTooManyPlansFailed()) return;
      attempts = attemptCount;
    }
    throw new Error(`It is ${journal.state} after ${most} runs: ${journal.reason}`);
  }

  #areTooManyPlansFailed(): boolean {
    const { journal } = this.rollout;
    const counts = journal.waves.map(({ tenants }) => tenants.filter(({ state }) => state === "failed").length);
    const all = counts.reduce((sum, count) => sum + count, 0);
    return (
      all > (this.#scenario.tolerated ?? all) ||
      counts.some((count, wave) => count > (this.#scenario.waves[wave]?.tolerated ?? 0))
    );
  }

  /** Schedules everything that happens by itself. */
  #plot(): void {
    const { clock, journal } = this.rollout;
    const { stopsAtMs, diesAtMs, elsewhere, limits } = this.#scenario;
    for (const atMs of stopsAtMs) {
      clock.schedule(atMs, () => {
        journal.isStopping = true;
        this.rollout.signalChange();
      });
    }
    for (const atMs of diesAtMs) {
      clock.schedule(atMs, () => {
        journal.resetInterrupted();
        this.#underWay.clear();
        this.rollout.signalChange();
      });
    }
    for (const { address, atMs, forMs } of elsewhere) {
      const takeSlots = (count: number): void => {
        const busyCount = journal.busyElsewhere.get(String(address)) ?? 0;
        journal.busyElsewhere.set(String(address), busyCount + count);
        this.rollout.signalChange();
      };
      clock.schedule(atMs, () => {
        const limit = limits[address];
        // The other rollout respects the limit too.
        if (limit === undefined || this.#busyAt(String(address)) >= limit) return;
        takeSlots(1);
        clock.schedule(atMs + forMs, () => takeSlots(-1));
      });
    }
  }

  #change(tenant: VirtualTenant, attempt: number, through: (isSuccessful: boolean) => void): void {
    this.#moment += 1;
    expect(this.#underWay.has(tenant.name), `${tenant.name} is begun twice`).toBe(false);
    this.#underWay.set(tenant.name, tenant);
    this.#failed.delete(tenant.name);
    this.#mayBegin(tenant);
    const { lastsMs, failures } = this.#fate(tenant.name);
    const { clock } = this.rollout;
    clock.schedule(clock.nowMs + lastsMs, () => {
      this.#moment += 1;
      const failedBefore = this.#failures.get(tenant.name) ?? 0;
      const isSuccessful = failedBefore >= failures;
      const isStillOurs = this.#underWay.get(tenant.name) === tenant && tenant.attempt === attempt;
      if (isStillOurs) {
        this.#underWay.delete(tenant.name);
        this.#lastThrough.set(tenant.wave, { atMs: clock.nowMs, moment: this.#moment });
        if (!isSuccessful) this.#fail(tenant, failedBefore + 1);
      }
      through(isSuccessful);
      // The journal accepts the results that count, and no others.
      if (isStillOurs) expect(tenant.state).toBe(isSuccessful ? "done" : "failed");
    });
  }

  #fail(tenant: VirtualTenant, failures: number): void {
    this.#failures.set(tenant.name, failures);
    this.#failed.set(tenant.name, tenant);
    const { waves, tolerated } = this.#scenario;
    const { maxConcurrent, tolerated: toleratedHere } = waves[tenant.wave] as Wave;
    const failedHere = [...this.#failed.values()].filter(({ wave }) => wave === tenant.wave).length;
    expect(failedHere).toBeLessThanOrEqual(toleratedHere + maxConcurrent);
    // Waves run one after the other, so the tenants in progress when the last tolerated one failed all belong to one
    // wave.
    const mostAtOnce = Math.max(...waves.map((wave) => wave.maxConcurrent));
    if (tolerated !== undefined) expect(this.#failed.size).toBeLessThanOrEqual(tolerated + mostAtOnce);
  }

  #mayBegin(tenant: VirtualTenant): void {
    const { waves, limits, capacity, tolerated } = this.#scenario;
    const { journal, clock } = this.rollout;
    const { maxConcurrent, tolerated: toleratedHere } = waves[tenant.wave] as Wave;
    expect(journal.isStopping).toBe(false);
    expect(this.#underWay.size).toBeLessThanOrEqual(Math.min(maxConcurrent, capacity));
    const limit = limits[Number(tenant.address)];
    if (limit !== undefined) expect(this.#busyAt(tenant.address)).toBeLessThanOrEqual(limit);
    const failed = [...journal.tenants.values()].filter(({ state }) => state === "failed");
    const failedHere = failed.filter(({ wave }) => wave === tenant.wave).length;
    expect(failedHere).toBeLessThanOrEqual(toleratedHere);
    const failedSoFar = failed.filter(({ wave }) => wave <= tenant.wave).length;
    if (tolerated !== undefined) expect(failedSoFar).toBeLessThanOrEqual(tolerated);

    for (const [index, earlier] of waves.slice(0, tenant.wave).entries()) {
      for (const name of earlier.tenants) expect(SETTLED_STATES).toContain(journal.tenants.get(name)?.state);
      const last = this.#lastThrough.get(index);
      if (last === undefined) continue;
      expect(clock.nowMs).toBeGreaterThanOrEqual(last.atMs + earlier.soakMs);
      if (earlier.health !== undefined) expect(this.#healthyMoments.get(earlier.name)).toBeGreaterThan(last.moment);
      if (earlier.gate) expect(this.#approved.get(index)).toBeGreaterThan(last.moment);
    }
    const lastWave = waves.findIndex(({ name }) => name === this.#until);
    if (lastWave >= 0) expect(tenant.wave, "goes on after --until").toBeLessThanOrEqual(lastWave);
  }

  #check(wave: Wave): { isHealthy: boolean; message: string } {
    this.#moment += 1;
    for (const name of wave.tenants) {
      expect(SETTLED_STATES).toContain(this.rollout.journal.tenants.get(name)?.state);
    }
    if (this.#looks.shift() === false) return UNHEALTHY;
    this.#healthyMoments.set(wave.name, this.#moment);
    return HEALTHY;
  }

  #busyAt(address: string): number {
    const ours = [...this.#underWay.values()].filter((tenant) => tenant.address === address).length;
    return ours + (this.rollout.journal.busyElsewhere.get(address) ?? 0);
  }

  #fate(name: string): TenantFate {
    return this.#fates.get(name) as TenantFate;
  }
}

const ADDRESS = "https://service.example";
const PLAIN = { maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false };

function buildRunState(waves: readonly WaveRunState[], more: Partial<RunState> = {}): RunState {
  return {
    state: "running",
    waves,
    tolerated: undefined,
    until: undefined,
    isStopping: false,
    pending: [],
    freeSlotsByAddress: new Map(),
    capacity: 100,
    ...more,
  };
}

function buildWave(
  name: string,
  counts: Partial<Record<TenantState, number>>,
  { state = "pending", ...more }: Partial<Wave & Pick<WaveRunState, "state">> = {},
): WaveRunState {
  return {
    wave: { ...PLAIN, name, tenants: [], ...more },
    state,
    counts: {
      ...{ pending: 0, queued: 0, running: 0, unchanged: 0, done: 0, failed: 0, skipped: 0 },
      ...counts,
    },
    soakUntilMs: undefined,
    isApproved: false,
    health: undefined,
  };
}

function buildDoneWave(name: string, counts: Partial<Record<TenantState, number>> = { done: 1 }): WaveRunState {
  return buildWave(name, counts, { state: "done", tolerated: 2 });
}

function buildTenants(...names: string[]): { name: string; address: string }[] {
  return names.map((name) => ({ name, address: ADDRESS }));
}
