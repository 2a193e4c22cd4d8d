import { VirtualClock, VirtualRollout, type VirtualTenant } from "#bench/virtual-rollout";
import type { chooseNextStep } from "../../provider/rollout/model/next-step.js";
import type { RolloutState, Wave } from "../../provider/rollout/model/wave.js";

/**
 * The parameters of a rollout, for the simulation and the closed formula. Times are in milliseconds; CPU times are
 * those of one core.
 */
export interface SimulationParameters {
  readonly tenants: number;
  /** The number of service addresses that the tenants are spread over. */
  readonly addresses: number;
  readonly requestsPerSecond: number;
  /** The number of tenants changed at once in the last wave, and planned at once. */
  readonly concurrent: number;
  /** The cores of all machines together. */
  readonly cores: number;
  /** The percentage of attempts that fail. */
  readonly failurePercent: number;
  /** The percentage of a wave's tenants that may fail. */
  readonly toleratedPercent: number;
  /** The interval between worker crashes, each with up to eight tenants in progress. Undefined: no crashes. */
  readonly crashEveryMs: number | undefined;
  /** The time between a worker's crash and the takeover of its tenants. */
  readonly leaseMs: number;
  readonly deny: number;
  readonly allow: number;
  readonly vips: number;
  /** The write requests per tenant. */
  readonly writes: number;
  /** The mean latency of one request. Actual latencies are between half and one and a half times this. */
  readonly latencyMs: number;
  readonly exportCpuMs: number;
  readonly engineCpuMs: number;
  /** The engine's wall time on a machine with idle cores, without waiting for the service. */
  readonly engineWallMs: number;
  readonly engineMb: number;
  readonly memoryMbPerCore: number;
  /** The statements per second that one connection to the journal's database can execute. */
  readonly statementsPerSecond: number;
  readonly seed: number;
}

/** The engine's times and memory are measured on a machine with two cores; see `results.md`. */
export const USUAL: SimulationParameters = {
  tenants: 1_000,
  addresses: 1,
  requestsPerSecond: 50,
  concurrent: 8,
  cores: 8,
  failurePercent: 0,
  toleratedPercent: 2,
  crashEveryMs: undefined,
  leaseMs: 10_000,
  deny: 400,
  allow: 100,
  vips: 50,
  writes: 1,
  latencyMs: 50,
  exportCpuMs: 300,
  engineCpuMs: 2_000,
  engineWallMs: 1_600,
  engineMb: 300,
  memoryMbPerCore: 4_000,
  statementsPerSecond: 2_000,
  seed: 1,
};

export interface SimulationResult {
  readonly state: RolloutState;
  readonly planningMs: number;
  readonly changingMs: number;
  readonly requests: number;
  readonly done: number;
  readonly failed: number;
  /** The number of attempts over all tenants. */
  readonly attempts: number;
  readonly crashes: number;
  readonly maxInProgress: number;
  /** The number of calls for the next step. */
  readonly steps: number;
  readonly statements: number;
}

const PAGE = 200;
const WORKER_SLOTS = 8;

/** Runs a rollout in virtual time. The same parameters give the same result. */
export function simulateRollout(next: typeof chooseNextStep, parameters: SimulationParameters): SimulationResult {
  const services = new SimulatedServices(parameters);
  const waves = buildWaves(parameters);
  const planningMs = services.planAll(waves.flatMap(({ tenants }) => tenants));
  const rollout = new VirtualRollout(
    next,
    {
      waves,
      tolerated: undefined,
      capacity: parameters.concurrent,
      addressOf: (tenant) => getAddress(tenant, parameters),
      limitOf: () => undefined,
      plannedAs: () => "pending",
    },
    { change: (...tenant) => services.change(...tenant), check: () => ({ isHealthy: true, message: "" }) },
    services.clock,
  );
  let dispatches = 0;
  rollout.onStep = ({ kind }) => {
    if (kind === "dispatch") dispatches += 1;
  };
  services.startCrashes((tenant) => rollout.begin(tenant));
  const state = rollout.run({ retry: false });
  const { attempts, requests, maxInProgress, crashCount } = services;
  const counts = rollout.journal.waves.map((wave) => wave.counts);
  const sumCounts = (state: "done" | "failed"): number => counts.reduce((all, wave) => all + wave[state], 0);
  const settled = sumCounts("done") + sumCounts("failed");
  const looks = (rollout.steps + dispatches) * (STATEMENTS.view + parameters.addresses);
  return {
    state,
    planningMs,
    changingMs: services.clock.nowMs - planningMs,
    requests,
    done: sumCounts("done"),
    failed: sumCounts("failed"),
    attempts,
    crashes: crashCount,
    maxInProgress,
    steps: rollout.steps,
    statements: looks + settled * (STATEMENTS.dispatch + STATEMENTS.finish) + attempts * STATEMENTS.claim,
  };
}

/**
 * The number of statements that the journal's methods execute, including the start and end of their transactions. A
 * view costs `view` plus one per address. A dispatch costs the same, plus `dispatch` for each of its tenants.
 */
export const STATEMENTS = { view: 4, dispatch: 2, claim: 7, finish: 5 };

/** The result of the closed formula, which ignores chance and queues and considers only the scarcest resource. */
export interface Estimate {
  readonly planningMs: number;
  readonly changingMs: number;
  readonly requests: number;
  /**
   * The number of concurrent tenants that exhausts each resource. Beyond it, more tenants at once aren't faster or
   * don't fit.
   */
  readonly breaksAt: Readonly<Record<ScarceResource, number>>;
}

export type ScarceResource = "rate limit" | "cores" | "memory" | "journal";

/**
 * Evaluates the closed formula. Planning a tenant takes `export + p·L`, and changing it takes `engine + q·L`, with `p`
 * and `q` requests of latency `L`. With `c` tenants at once, `n` tenants take `n/c` of these times. The rate limit
 * bounds this from below by `n·q/r`, and the cores by `n·cpu/cores`. The result is the largest of the three, plus one
 * tenant's time for the ramp-up and the tail.
 */
export function evaluateFormula(parameters: SimulationParameters): Estimate {
  const { tenants, latencyMs, exportCpuMs, engineCpuMs, engineWallMs, cores, concurrent } = parameters;
  const requestMs = 1_000 / (parameters.requestsPerSecond * parameters.addresses);
  const pages = countPages(parameters);
  const plan = {
    requests: pages,
    cpuMs: exportCpuMs,
    wallMs: (exportCpuMs * engineWallMs) / engineCpuMs + pages * latencyMs,
  };
  const requests = 2 * pages + parameters.writes;
  const change = { requests, cpuMs: engineCpuMs, wallMs: engineWallMs + requests * latencyMs };
  const computeDuration = (work: typeof plan, count: number, concurrency: number): number => {
    const scarce = Math.max(count * work.requests * requestMs, (count * work.cpuMs) / cores);
    const slotMs = Math.ceil(count / concurrency) * work.wallMs;
    return slotMs >= scarce ? slotMs : Math.min(scarce + work.wallMs, scarce + slotMs);
  };
  const statements = 2 * (STATEMENTS.view + parameters.addresses) + STATEMENTS.view + parameters.addresses;
  const aTenant = statements + STATEMENTS.dispatch + STATEMENTS.claim + STATEMENTS.finish;
  return {
    planningMs: computeDuration(plan, tenants, concurrent),
    changingMs: buildWaves(parameters).reduce(
      (sum, wave) =>
        sum + computeDuration(change, wave.tenants.length, Math.min(wave.maxConcurrent, wave.tenants.length)),
      0,
    ),
    requests: tenants * (pages + requests),
    breaksAt: {
      "rate limit": change.wallMs / (requests * requestMs),
      cores: (cores * change.wallMs) / engineCpuMs,
      memory: (cores * parameters.memoryMbPerCore) / parameters.engineMb,
      journal: (parameters.statementsPerSecond / aTenant) * (change.wallMs / 1_000),
    },
  };
}

function countPages({ deny, allow, vips }: SimulationParameters): number {
  return [deny, allow, vips].reduce((pages, count) => pages + Math.max(1, Math.ceil(count / PAGE)), 0);
}

/** Returns the waves: 1 % of the tenants, then 10 %, then the rest. */
function buildWaves({ tenants, concurrent, toleratedPercent }: SimulationParameters): Wave[] {
  const names = Array.from({ length: tenants }, (_, index) => String(index));
  const canary = Math.max(1, Math.round(tenants / 100));
  const early = Math.max(1, Math.round(tenants / 10));
  return [
    { name: "canary", tenants: names.slice(0, canary), maxConcurrent: Math.min(4, concurrent) },
    { name: "early", tenants: names.slice(canary, canary + early), maxConcurrent: concurrent },
    { name: "rest", tenants: names.slice(canary + early), maxConcurrent: concurrent },
  ].map((wave) => ({
    ...wave,
    tolerated: Math.floor((wave.tenants.length * toleratedPercent) / 100),
    soakMs: 0,
    gate: false,
  }));
}

function getAddress(tenant: string, { addresses }: SimulationParameters): string {
  return String(Number(tenant) % addresses);
}

/** The services with their rate limits, the cores and the workers. */
class SimulatedServices {
  readonly clock = new VirtualClock();
  requests = 0;
  attempts = 0;
  maxInProgress = 0;
  crashCount = 0;
  readonly #parameters: SimulationParameters;
  readonly #cores: SharedCores;
  readonly #freeAt = new Map<string, number>();
  readonly #inProgress = new Map<VirtualTenant, number>();
  #random: number;

  constructor(parameters: SimulationParameters) {
    this.#parameters = parameters;
    this.#cores = new SharedCores(this.clock, parameters.cores, parameters.engineCpuMs / parameters.engineWallMs);
    this.#random = parameters.seed;
  }

  /** Plans all tenants, some at once. Returns the time that it takes. */
  planAll(names: readonly string[]): number {
    const { concurrent, exportCpuMs } = this.#parameters;
    const waiting = names.values();
    const planNext = (): void => {
      const { value: name } = waiting.next();
      if (name === undefined) return;
      const address = getAddress(name, this.#parameters);
      this.#cores.runWork(exportCpuMs, () => this.#ask(address, countPages(this.#parameters), () => true, planNext));
    };
    for (let startedCount = 0; startedCount < concurrent; startedCount++) planNext();
    while (this.clock.tick());
    return this.clock.nowMs;
  }

  /** Changes a tenant: the engine works before and after its requests, then all lists are read again. */
  change(tenant: VirtualTenant, attempt: number, through: (isSuccessful: boolean) => void): void {
    const { writes, engineCpuMs, failurePercent } = this.#parameters;
    const pages = countPages(this.#parameters);
    const isAlive = (): boolean => tenant.attempt === attempt && this.#inProgress.get(tenant) === attempt;
    this.attempts += 1;
    this.#inProgress.set(tenant, attempt);
    this.maxInProgress = Math.max(this.maxInProgress, this.#inProgress.size);
    const isSuccessful = this.#draw() * 100 >= failurePercent;
    this.#cores.runWork(engineCpuMs / 2, () =>
      this.#ask(tenant.address, pages + writes, isAlive, () =>
        this.#cores.runWork(engineCpuMs / 2, () =>
          this.#ask(tenant.address, pages, isAlive, () => {
            if (!isAlive()) return;
            this.#inProgress.delete(tenant);
            through(isSuccessful);
          }),
        ),
      ),
    );
  }

  /** From now on, workers crash; their tenants are reassigned when the lease expires. */
  startCrashes(takeOver: (tenant: VirtualTenant) => void): void {
    const { crashEveryMs, leaseMs } = this.#parameters;
    if (crashEveryMs === undefined) return;
    this.clock.schedule(this.clock.nowMs + crashEveryMs * (0.5 + this.#draw()), () => {
      const living = [...this.#inProgress].filter(([, attempt]) => attempt > 0);
      const first = Math.floor(this.#draw() * Math.max(1, living.length - WORKER_SLOTS + 1));
      if (living.length > 0) this.crashCount += 1;
      for (const [tenant] of living.slice(first, first + WORKER_SLOTS)) {
        // The tenant keeps its slot, but no worker owns it.
        this.#inProgress.set(tenant, 0);
        this.clock.schedule(this.clock.nowMs + leaseMs, () => takeOver(tenant));
      }
      this.startCrashes(takeOver);
    });
  }

  /** Makes requests one after another, each as soon as the address's rate limit allows. */
  #ask(address: string, count: number, isAlive: () => boolean, then: () => void): void {
    if (!isAlive()) return;
    if (count === 0) {
      then();
      return;
    }
    const { requestsPerSecond, latencyMs } = this.#parameters;
    const startMs = Math.max(this.clock.nowMs, this.#freeAt.get(address) ?? 0);
    this.#freeAt.set(address, startMs + 1_000 / requestsPerSecond);
    this.requests += 1;
    this.clock.schedule(startMs + latencyMs * (0.5 + this.#draw()), () => this.#ask(address, count - 1, isAlive, then));
  }

  /** Returns the next pseudorandom number from 0 to 1 (mulberry32). */
  #draw(): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Cores shared evenly by all running work. Each piece of work can use up to `mostEach` of them. */
class SharedCores {
  readonly #clock: VirtualClock;
  readonly #cores: number;
  readonly #mostEach: number;
  /**
   * The CPU time that each piece of work would have received if it had run since the beginning. `#through` uses this
   * time to order completions.
   */
  #servedMs = 0;
  #atMs = 0;
  readonly #through: VirtualClock = new VirtualClock();
  #working = 0;
  #turn = 0;

  constructor(clock: VirtualClock, cores: number, mostEach: number) {
    this.#clock = clock;
    this.#cores = cores;
    this.#mostEach = mostEach;
  }

  runWork(cpuMs: number, then: () => void): void {
    this.#advance();
    this.#working += 1;
    this.#through.schedule(this.#servedMs + cpuMs, then);
    this.#schedule();
  }

  #advance(): void {
    this.#servedMs += (this.#clock.nowMs - this.#atMs) * this.#speed;
    this.#atMs = this.#clock.nowMs;
  }

  get #speed(): number {
    return this.#working === 0 ? 0 : Math.min(this.#mostEach, this.#cores / this.#working);
  }

  /**
   * Schedules the completion of the work that finishes first. A later call supersedes it, because any arrival or
   * departure changes the speed.
   */
  #schedule(): void {
    const next = this.#through.nextMs;
    if (next === undefined) return;
    const turn = ++this.#turn;
    this.#clock.schedule(this.#clock.nowMs + (next - this.#servedMs) / this.#speed, () => {
      if (turn !== this.#turn) return;
      this.#advance();
      this.#servedMs = Math.max(this.#servedMs, next);
      this.#working -= 1;
      this.#through.tick();
      this.#schedule();
    });
  }
}
