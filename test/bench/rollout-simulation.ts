import { VirtualClock, VirtualRollout, type VirtualTenant } from "#bench/virtual-rollout";
import type { chooseNextStep } from "../../provider/rollout/model/next-step.js";
import type { RolloutState, Wave } from "../../provider/rollout/model/wave.js";

/** A rollout as the simulation and the paper look at it. Times are milliseconds, and CPU time those of one core. */
export interface Circumstances {
  readonly tenants: number;
  /** Among how many addresses of services the tenants are spread. */
  readonly addresses: number;
  readonly requestsPerSecond: number;
  /** How many tenants are changed at once in the last wave, and planned at once. */
  readonly concurrent: number;
  /** Of all machines together. */
  readonly cores: number;
  /** How many attempts of a hundred fail. */
  readonly failurePercent: number;
  /** How many of a wave's tenants, of a hundred, may fail. */
  readonly toleratedPercent: number;
  /** How often a worker dies, with up to eight tenants under way; undefined: never. */
  readonly crashEveryMs: number | undefined;
  /** What is between a worker's death and the takeover of its tenants. */
  readonly leaseMs: number;
  readonly deny: number;
  readonly allow: number;
  readonly vips: number;
  /** Requests that write, of a tenant. */
  readonly writes: number;
  /** Of one request, from half to one and a half of it. */
  readonly latencyMs: number;
  readonly exportCpuMs: number;
  readonly engineCpuMs: number;
  /** Of the engine alone on a machine with cores to spare, and without the service's answers. */
  readonly engineWallMs: number;
  readonly engineMb: number;
  readonly memoryMbPerCore: number;
  /** What one connection to the journal's database carries. */
  readonly statementsPerSecond: number;
  readonly seed: number;
}

/** Measured where it says so in `results.md`: the engine's times and memory on a machine of two cores. */
export const USUAL: Circumstances = {
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

export interface Simulated {
  readonly state: RolloutState;
  readonly planningMs: number;
  readonly changingMs: number;
  readonly requests: number;
  readonly done: number;
  readonly failed: number;
  /** How often a tenant was begun. */
  readonly attempts: number;
  readonly crashes: number;
  readonly mostUnderWay: number;
  /** How often the next step was asked for. */
  readonly steps: number;
  readonly statements: number;
}

const PAGE = 200;
const WORKER_HANDS = 8;

/** Carries a rollout out in virtual time. The same circumstances give the same result. */
export function simulate(next: typeof chooseNextStep, given: Circumstances): Simulated {
  const world = new World(given);
  const waves = wavesOf(given);
  const planningMs = world.planAll(waves.flatMap(({ tenants }) => tenants));
  const rollout = new VirtualRollout(
    next,
    {
      waves,
      tolerated: undefined,
      capacity: given.concurrent,
      addressOf: (tenant) => addressOf(tenant, given),
      limitOf: () => undefined,
      plannedAs: () => "pending",
    },
    { change: (...tenant) => world.change(...tenant), check: () => ({ isWell: true, message: "" }) },
    world.clock,
  );
  let releases = 0;
  rollout.onStep = ({ kind }) => {
    if (kind === "release") releases += 1;
  };
  world.crashes((tenant) => rollout.begin(tenant));
  const state = rollout.run({ retry: false });
  const { attempts, requests, mostUnderWay, crashCount } = world;
  const counts = rollout.journal.waves.map((wave) => wave.counts);
  const sum = (of: "done" | "failed"): number => counts.reduce((all, wave) => all + wave[of], 0);
  const settled = sum("done") + sum("failed");
  const looks = (rollout.steps + releases) * (STATEMENTS.view + given.addresses);
  return {
    state,
    planningMs,
    changingMs: world.clock.nowMs - planningMs,
    requests,
    done: sum("done"),
    failed: sum("failed"),
    attempts,
    crashes: crashCount,
    mostUnderWay,
    steps: rollout.steps,
    statements: looks + settled * (STATEMENTS.release + STATEMENTS.finish) + attempts * STATEMENTS.begin,
  };
}

/**
 * What the journal's methods cost in statements, with the beginning and the end of their transactions: a look, and a
 * release too, one more for each address; a release so many for each of its tenants.
 */
export const STATEMENTS = { view: 4, release: 2, begin: 7, finish: 5 };

/** What is known on paper: no chance, no queues, only what is scarcest. */
export interface OnPaper {
  readonly planningMs: number;
  readonly changingMs: number;
  readonly requests: number;
  /** At how many tenants at once each thing is used up: more at once are no faster, or do not run. */
  readonly breaksAt: Readonly<Record<Scarce, number>>;
}

export type Scarce = "rate limit" | "cores" | "memory" | "journal";

/**
 * The closed formula. A tenant is planned in a time of `export + p·L`, and changed in `engine + q·L`, with `p` and `q` requests of
 * latency `L`. So many at once take `n/c` of these times; the limit of requests, and the cores, let nobody be faster
 * than `n·q/r` and `n·cpu/cores`. The largest of the three is what it takes, and once more a tenant's time for what
 * begins and ends it.
 */
export function onPaper(given: Circumstances): OnPaper {
  const { tenants, latencyMs, exportCpuMs, engineCpuMs, engineWallMs, cores, concurrent } = given;
  const requestMs = 1_000 / (given.requestsPerSecond * given.addresses);
  const pages = pagesOf(given);
  const plan = {
    requests: pages,
    cpuMs: exportCpuMs,
    wallMs: (exportCpuMs * engineWallMs) / engineCpuMs + pages * latencyMs,
  };
  const requests = 2 * pages + given.writes;
  const change = { requests, cpuMs: engineCpuMs, wallMs: engineWallMs + requests * latencyMs };
  const takes = (work: typeof plan, count: number, atOnce: number): number => {
    const scarce = Math.max(count * work.requests * requestMs, (count * work.cpuMs) / cores);
    const byPlaces = Math.ceil(count / atOnce) * work.wallMs;
    return byPlaces >= scarce ? byPlaces : Math.min(scarce + work.wallMs, scarce + byPlaces);
  };
  const statements = 2 * (STATEMENTS.view + given.addresses) + STATEMENTS.view + given.addresses;
  const aTenant = statements + STATEMENTS.release + STATEMENTS.begin + STATEMENTS.finish;
  return {
    planningMs: takes(plan, tenants, concurrent),
    changingMs: wavesOf(given).reduce(
      (sum, wave) => sum + takes(change, wave.tenants.length, Math.min(wave.maxConcurrent, wave.tenants.length)),
      0,
    ),
    requests: tenants * (pages + requests),
    breaksAt: {
      "rate limit": change.wallMs / (requests * requestMs),
      cores: (cores * change.wallMs) / engineCpuMs,
      memory: (cores * given.memoryMbPerCore) / given.engineMb,
      journal: (given.statementsPerSecond / aTenant) * (change.wallMs / 1_000),
    },
  };
}

function pagesOf({ deny, allow, vips }: Circumstances): number {
  return [deny, allow, vips].reduce((pages, count) => pages + Math.max(1, Math.ceil(count / PAGE)), 0);
}

/** One of a hundred, then one of ten, then all that are left. */
function wavesOf({ tenants, concurrent, toleratedPercent }: Circumstances): Wave[] {
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

function addressOf(tenant: string, { addresses }: Circumstances): string {
  return String(Number(tenant) % addresses);
}

/** The services with their limits, the cores and the workers. */
class World {
  readonly clock = new VirtualClock();
  requests = 0;
  attempts = 0;
  mostUnderWay = 0;
  crashCount = 0;
  readonly #given: Circumstances;
  readonly #cores: SharedCores;
  readonly #freeAt = new Map<string, number>();
  readonly #underWay = new Map<VirtualTenant, number>();
  #random: number;

  constructor(given: Circumstances) {
    this.#given = given;
    this.#cores = new SharedCores(this.clock, given.cores, given.engineCpuMs / given.engineWallMs);
    this.#random = given.seed;
  }

  /** How long it takes to plan all, some at once. */
  planAll(names: readonly string[]): number {
    const { concurrent, exportCpuMs } = this.#given;
    const waiting = names.values();
    const planNext = (): void => {
      const { value: name } = waiting.next();
      if (name === undefined) return;
      const address = addressOf(name, this.#given);
      this.#cores.work(exportCpuMs, () => this.#ask(address, pagesOf(this.#given), () => true, planNext));
    };
    for (let begun = 0; begun < concurrent; begun++) planNext();
    while (this.clock.tick());
    return this.clock.nowMs;
  }

  /** The engine works before and after its requests; then all is read again. */
  change(tenant: VirtualTenant, attempt: number, through: (isWell: boolean) => void): void {
    const { writes, engineCpuMs, failurePercent } = this.#given;
    const pages = pagesOf(this.#given);
    const isAlive = (): boolean => tenant.attempt === attempt && this.#underWay.get(tenant) === attempt;
    this.attempts += 1;
    this.#underWay.set(tenant, attempt);
    this.mostUnderWay = Math.max(this.mostUnderWay, this.#underWay.size);
    const isWell = this.#draw() * 100 >= failurePercent;
    this.#cores.work(engineCpuMs / 2, () =>
      this.#ask(tenant.address, pages + writes, isAlive, () =>
        this.#cores.work(engineCpuMs / 2, () =>
          this.#ask(tenant.address, pages, isAlive, () => {
            if (!isAlive()) return;
            this.#underWay.delete(tenant);
            through(isWell);
          }),
        ),
      ),
    );
  }

  /** From now on, workers die; their tenants are taken over when the lease is over. */
  crashes(takeOver: (tenant: VirtualTenant) => void): void {
    const { crashEveryMs, leaseMs } = this.#given;
    if (crashEveryMs === undefined) return;
    this.clock.at(this.clock.nowMs + crashEveryMs * (0.5 + this.#draw()), () => {
      const living = [...this.#underWay].filter(([, attempt]) => attempt > 0);
      const first = Math.floor(this.#draw() * Math.max(1, living.length - WORKER_HANDS + 1));
      if (living.length > 0) this.crashCount += 1;
      for (const [tenant] of living.slice(first, first + WORKER_HANDS)) {
        // It keeps its place, as a tenant of nobody.
        this.#underWay.set(tenant, 0);
        this.clock.at(this.clock.nowMs + leaseMs, () => takeOver(tenant));
      }
      this.crashes(takeOver);
    });
  }

  /** Makes requests, one after the other, each when the address may be asked again. */
  #ask(address: string, count: number, isAlive: () => boolean, then: () => void): void {
    if (!isAlive()) return;
    if (count === 0) {
      then();
      return;
    }
    const { requestsPerSecond, latencyMs } = this.#given;
    const startMs = Math.max(this.clock.nowMs, this.#freeAt.get(address) ?? 0);
    this.#freeAt.set(address, startMs + 1_000 / requestsPerSecond);
    this.requests += 1;
    this.clock.at(startMs + latencyMs * (0.5 + this.#draw()), () => this.#ask(address, count - 1, isAlive, then));
  }

  /** The next of a series of numbers from 0 to 1 (mulberry32). */
  #draw(): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Cores that are shared evenly by all who work, each using up to so many of them. */
class SharedCores {
  readonly #clock: VirtualClock;
  readonly #cores: number;
  readonly #mostEach: number;
  /** What each has worked that was there from the beginning, and at how much of it who is through. */
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

  work(cpuMs: number, then: () => void): void {
    this.#advance();
    this.#working += 1;
    this.#through.at(this.#servedMs + cpuMs, then);
    this.#schedule();
  }

  #advance(): void {
    this.#servedMs += (this.#clock.nowMs - this.#atMs) * this.#speed;
    this.#atMs = this.#clock.nowMs;
  }

  get #speed(): number {
    return this.#working === 0 ? 0 : Math.min(this.#mostEach, this.#cores / this.#working);
  }

  /** Who is through first ends its turn, unless somebody comes or goes before. */
  #schedule(): void {
    const next = this.#through.nextMs;
    if (next === undefined) return;
    const turn = ++this.#turn;
    this.#clock.at(this.#clock.nowMs + (next - this.#servedMs) / this.#speed, () => {
      if (turn !== this.#turn) return;
      this.#advance();
      this.#servedMs = Math.max(this.#servedMs, next);
      this.#working -= 1;
      this.#through.tick();
      this.#schedule();
    });
  }
}
