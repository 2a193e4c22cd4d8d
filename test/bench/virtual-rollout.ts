import type {
  chooseNextStep,
  PendingTenant,
  RolloutStep,
  RunState,
  WaveRunState,
} from "../../provider/rollout/model/next-step.js";
import type { RolloutState, TenantState, Wave, WaveState } from "../../provider/rollout/model/wave.js";

/** The input of a rollout, without the tenants' settings. */
export interface VirtualPlan {
  readonly waves: readonly Wave[];
  /** The number of failures tolerated in the whole rollout. Undefined: only the waves' limits apply. */
  readonly tolerated: number | undefined;
  /** The number of tenants that the workers can process at once. */
  readonly capacity: number;
  addressOf(tenant: string): string;
  /** Returns the number of tenants of an address that may be in progress. Undefined: no limit. */
  limitOf(address: string): number | undefined;
  /** Returns the outcome of planning. */
  plannedAs(tenant: string): "pending" | "unchanged" | "failed";
}

/** The environment that does the work, in virtual time. */
export interface VirtualExecutor {
  /** Changes a tenant, and calls `through` when it is finished. If a worker crashes, it never calls it. */
  change(tenant: VirtualTenant, attempt: number, through: (isSuccessful: boolean) => void): void;
  check(wave: Wave): { readonly isHealthy: boolean; readonly message: string };
}

/** A queue of events in virtual time. Events themselves take no time. */
export class VirtualClock {
  nowMs = 0;
  readonly #heap: { readonly atMs: number; readonly order: number; readonly act: () => void }[] = [];
  #order = 0;

  schedule(atMs: number, act: () => void): void {
    const heap = this.#heap;
    const item = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, act };
    let place = heap.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, item)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = item;
  }

  /** The time of the next event, or undefined if there is none. */
  get nextMs(): number | undefined {
    return this.#heap[0]?.atMs;
  }

  /** Runs the next event. Returns false if there is none. */
  tick(): boolean {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined) return false;
    if (heap.length > 0) siftDown(heap, last);
    this.nowMs = first.atMs;
    first.act();
    return true;
  }
}

type ScheduledItem = { readonly atMs: number; readonly order: number };

function isBefore(a: ScheduledItem, b: ScheduledItem): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

function siftDown<T extends ScheduledItem>(heap: T[], item: T): void {
  let place = 0;
  for (;;) {
    let child = 2 * place + 1;
    const leftChild = heap[child];
    const right = heap[child + 1];
    if (leftChild === undefined) break;
    let above = leftChild;
    if (right !== undefined && isBefore(right, leftChild)) {
      above = right;
      child += 1;
    }
    if (isBefore(item, above)) break;
    heap[place] = above;
    place = child;
  }
  heap[place] = item;
}

export interface VirtualTenant {
  readonly name: string;
  readonly wave: number;
  readonly position: number;
  readonly address: string;
  /** Whether planning succeeded. Without a plan, there is nothing to retry. */
  readonly hasPlan: boolean;
  state: TenantState;
  retryRound: number;
  attempt: number;
}

export interface VirtualWave {
  readonly wave: Wave;
  /** In rollout order. */
  readonly tenants: readonly VirtualTenant[];
  readonly counts: Record<TenantState, number>;
  state: WaveState;
  soakUntilMs: number | undefined;
  isApproved: boolean;
  health: { readonly isHealthy: boolean; readonly message: string } | undefined;
  /** No tenant before this position is pending. */
  firstPending: number;
}

/** An in-memory journal, written from scratch as a second, independent interpretation of the journal's transitions. */
export class VirtualJournal {
  state: RolloutState = "planned";
  reason: string | undefined;
  isStopping = false;
  until: string | undefined;
  readonly waves: readonly VirtualWave[];
  readonly tenants: ReadonlyMap<string, VirtualTenant>;
  /** The number of tenants in progress in other rollouts, by address. */
  readonly busyElsewhere = new Map<string, number>();
  readonly #plan: VirtualPlan;
  readonly #busyAt = new Map<string, number>();

  constructor(plan: VirtualPlan) {
    this.#plan = plan;
    this.waves = plan.waves.map((wave, index) => {
      const tenants = wave.tenants.map((name, position): VirtualTenant => {
        const state = plan.plannedAs(name);
        const hasPlan = state === "pending";
        const address = plan.addressOf(name);
        return { name, wave: index, position, address, hasPlan, state, retryRound: 0, attempt: 0 };
      });
      const counts = createCounts();
      for (const { state } of tenants) counts[state] += 1;
      return {
        wave,
        tenants,
        counts,
        state: "pending",
        soakUntilMs: undefined,
        isApproved: false,
        health: undefined,
        firstPending: 0,
      };
    });
    this.tenants = new Map(this.waves.flatMap(({ tenants }) => tenants.map((tenant) => [tenant.name, tenant])));
  }

  get underWay(): number {
    return this.waves.reduce((sum, { counts }) => sum + counts.queued + counts.running, 0);
  }

  /** Returns the number of tenants of an address in progress. A rollout that isn't running occupies no slots. */
  countBusy(address: string): number {
    return this.state === "running" ? (this.#busyAt.get(address) ?? 0) : 0;
  }

  getView(): RunState {
    const running = this.waves.find(({ state }) => state === "running");
    const freeSlotsByAddress = this.#getCapacity();
    return {
      state: this.state,
      waves: this.waves satisfies readonly WaveRunState[],
      tolerated: this.#plan.tolerated,
      until: this.until,
      isStopping: this.isStopping,
      pending: running === undefined ? [] : listPending(running, freeSlotsByAddress),
      freeSlotsByAddress,
      capacity: this.#plan.capacity - this.underWay,
    };
  }

  start({ until, retry }: { until?: string | undefined; retry: boolean }): void {
    this.state = "running";
    this.reason = undefined;
    this.isStopping = false;
    this.until = until ?? (retry ? this.until : undefined);
    for (const wave of this.waves) {
      if (retry) this.#retry(wave);
      else if (wave.state === "gated" && wave.wave.name !== until) wave.isApproved = true;
    }
  }

  /** Releases those of the named tenants that may start now, and returns them. */
  dispatch(wave: number, names: readonly string[]): VirtualTenant[] {
    const room = this.#getCapacity();
    const places = (this.waves[wave]?.wave.maxConcurrent ?? 0) - this.underWay;
    const dispatched: VirtualTenant[] = [];
    if (this.state !== "running" || this.isStopping) return dispatched;
    for (const name of names) {
      const tenant = this.#tenant(name);
      const freeSlots = room.get(tenant.address);
      if (dispatched.length >= places) break;
      if (tenant.state !== "pending" || (freeSlots !== undefined && freeSlots <= 0)) continue;
      if (freeSlots !== undefined) room.set(tenant.address, freeSlots - 1);
      this.#set(tenant, "queued");
      dispatched.push(tenant);
    }
    return dispatched;
  }

  /** Starts an attempt. Returns its number, or undefined if there is nothing to do. */
  startAttempt(name: string, retryRound: number): number | undefined {
    const tenant = this.#tenant(name);
    if (tenant.retryRound !== retryRound) return undefined;
    if (tenant.state !== "queued" && tenant.state !== "running") return undefined;
    this.#set(tenant, "running");
    tenant.attempt += 1;
    return tenant.attempt;
  }

  finish(name: string, attempt: number, isSuccessful: boolean): boolean {
    const tenant = this.#tenant(name);
    if (tenant.state !== "running" || tenant.attempt !== attempt) return false;
    this.#set(tenant, isSuccessful ? "done" : "failed");
    return true;
  }

  setWaveState(index: number, state: WaveState, more: Partial<Pick<VirtualWave, "soakUntilMs" | "health">> = {}): void {
    const wave = this.waves[index];
    if (wave === undefined) throw new Error(`There is no wave ${index}.`);
    wave.state = state;
    wave.soakUntilMs = more.soakUntilMs ?? wave.soakUntilMs;
    wave.health = more.health ?? wave.health;
  }

  handOver(index: number, reason: string): void {
    this.setWaveState(index, "gated");
    this.state = "waiting";
    this.reason = reason;
  }

  stop(reason: string): void {
    this.state = "stopped";
    this.reason = reason;
  }

  finishRollout(): void {
    this.state = "done";
  }

  /** Returns queued and running tenants to pending, because the process that worked on them has died. */
  resetInterrupted(): void {
    for (const tenant of this.tenants.values()) {
      if (tenant.state === "queued" || tenant.state === "running") this.#set(tenant, "pending");
    }
  }

  #retry(wave: VirtualWave): void {
    const failed = wave.tenants.filter(({ state, hasPlan }) => hasPlan && state === "failed");
    for (const tenant of failed) {
      this.#set(tenant, "pending");
      tenant.retryRound += 1;
    }
    if (failed.length > 0 && wave.state !== "pending") {
      Object.assign(wave, { state: "running", health: undefined, soakUntilMs: undefined, isApproved: false });
    }
    if (wave.health?.isHealthy === false) wave.health = undefined;
  }

  #getCapacity(): Map<string, number> {
    const room = new Map<string, number>();
    for (const address of this.#addresses) {
      const limit = this.#plan.limitOf(address);
      const busy = this.countBusy(address) + (this.busyElsewhere.get(address) ?? 0);
      if (limit !== undefined) room.set(address, limit - busy);
    }
    return room;
  }

  get #addresses(): ReadonlySet<string> {
    this.#knownAddresses ??= new Set([...this.tenants.values()].map(({ address }) => address));
    return this.#knownAddresses;
  }
  #knownAddresses: ReadonlySet<string> | undefined;

  #tenant(name: string): VirtualTenant {
    const tenant = this.tenants.get(name);
    if (tenant === undefined) throw new Error(`There is no tenant ${name}.`);
    return tenant;
  }

  #set(tenant: VirtualTenant, state: TenantState): void {
    const wave = this.waves[tenant.wave];
    if (wave === undefined) throw new Error(`There is no wave ${tenant.wave}.`);
    const change = Number(isUnderWay(state)) - Number(isUnderWay(tenant.state));
    if (change !== 0) this.#busyAt.set(tenant.address, (this.#busyAt.get(tenant.address) ?? 0) + change);
    if (state === "pending") wave.firstPending = Math.min(wave.firstPending, tenant.position);
    wave.counts[tenant.state] -= 1;
    wave.counts[state] += 1;
    tenant.state = state;
  }
}

/** A rollout that runs the same steps as the real one, in virtual time. */
export class VirtualRollout {
  readonly journal: VirtualJournal;
  readonly clock: VirtualClock;
  /** Called for every step except waits, for observers. */
  onStep: (step: RolloutStep) => void = () => {};
  /** The number of calls for the next step. */
  steps = 0;
  readonly #world: VirtualExecutor;
  readonly #nextStep: typeof chooseNextStep;
  #isChanged = true;

  /** @param next the function that chooses the steps, from the sources or from the built package */
  constructor(next: typeof chooseNextStep, plan: VirtualPlan, world: VirtualExecutor, clock = new VirtualClock()) {
    this.#nextStep = next;
    this.#world = world;
    this.journal = new VirtualJournal(plan);
    this.clock = clock;
  }

  /** Starts or resumes the rollout, and runs until it is done or a person is needed. */
  run(selection: { until?: string | undefined; retry: boolean }): RolloutState {
    this.journal.start(selection);
    this.signalChange();
    while (this.journal.state === "running") {
      const step = this.#next();
      if (step.kind === "wait" || step.kind === "pause") this.#wait(step.untilMs);
      else this.#do(step);
    }
    return this.journal.state;
  }

  /** Signals a change of state, so that the next step is chosen again. */
  signalChange(): void {
    this.#isChanged = true;
  }

  /** Starts a queued tenant, or takes it over from a crashed worker. */
  begin(tenant: VirtualTenant): void {
    const attempt = this.journal.startAttempt(tenant.name, tenant.retryRound);
    if (attempt === undefined) return;
    this.#world.change(tenant, attempt, (isSuccessful) => {
      if (this.journal.finish(tenant.name, attempt, isSuccessful)) this.signalChange();
    });
  }

  #next(): RolloutStep {
    this.steps += 1;
    this.#isChanged = false;
    return this.#nextStep(this.journal.getView(), this.clock.nowMs);
  }

  #wait(untilMs: number | undefined): void {
    const isElsewhere = [...this.journal.busyElsewhere.values()].some((busyCount) => busyCount > 0);
    if (this.journal.underWay === 0 && untilMs === undefined && !isElsewhere) {
      throw new Error("It waits, and there is nothing to wait for.");
    }
    if (untilMs !== undefined) this.clock.schedule(untilMs, () => this.signalChange());
    while (!this.#isChanged) {
      if (!this.clock.tick()) throw new Error("It waits, and nothing happens any more.");
    }
  }

  #do(step: Exclude<RolloutStep, { kind: "wait" | "pause" }>): void {
    const { journal } = this;
    this.onStep(step);
    switch (step.kind) {
      case "begin":
        journal.setWaveState(step.wave, "running");
        break;
      case "dispatch": {
        const dispatched = journal.dispatch(step.wave, step.tenants);
        if (dispatched.length < step.tenants.length) throw new Error("It dispatches more than may be begun.");
        for (const tenant of dispatched) this.begin(tenant);
        break;
      }
      case "soak":
        journal.setWaveState(step.wave, "soaking", { soakUntilMs: step.untilMs });
        break;
      case "check": {
        const { wave } = journal.waves[step.wave] ?? {};
        if (wave === undefined) throw new Error(`There is no wave ${step.wave}.`);
        journal.setWaveState(step.wave, "checking", { health: this.#world.check(wave) });
        break;
      }
      case "settle":
        journal.setWaveState(step.wave, "done");
        break;
      case "hand-over":
        journal.handOver(step.wave, step.reason);
        break;
      case "stop":
        journal.stop(step.reason);
        break;
      case "finish":
        journal.finishRollout();
    }
  }
}

/** Returns the first tenants whose service has free slots, at most as many as the wave may have in progress. */
function listPending(wave: VirtualWave, roomAt: ReadonlyMap<string, number>): PendingTenant[] {
  const { tenants } = wave;
  while (wave.firstPending < tenants.length && tenants[wave.firstPending]?.state !== "pending") {
    wave.firstPending += 1;
  }
  const dueTenants: PendingTenant[] = [];
  for (let place = wave.firstPending; place < tenants.length; place++) {
    const tenant = tenants[place];
    if (dueTenants.length === wave.wave.maxConcurrent) break;
    if (tenant?.state === "pending" && (roomAt.get(tenant.address) ?? 1) > 0) dueTenants.push(tenant);
  }
  return dueTenants;
}

function isUnderWay(state: TenantState): boolean {
  return state === "queued" || state === "running";
}

function createCounts(): Record<TenantState, number> {
  return { pending: 0, queued: 0, running: 0, unchanged: 0, done: 0, failed: 0, skipped: 0 };
}
