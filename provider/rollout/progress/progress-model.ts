import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport, TenantError, TenantReport, WaveReport } from "../model/rollout-report";
import type { RolloutState, TenantState, WaveState } from "../model/wave";
import { computeWaveTimes } from "../report/wave-times";
import { ConcurrencyMeter } from "./concurrency-meter";

/** The progress of a rollout: its state in the journal at the beginning of this run, and all events since. */
export interface Progress {
  readonly id: string;
  readonly source: string;
  readonly state: RolloutState | "interrupted";
  readonly reason?: string;
  readonly total: number;
  readonly counts: ProgressCounts;
  readonly waves: readonly WaveProgress[];
  /** By tenant name, in the order in which the tenants began. */
  readonly running: ReadonlyMap<string, RunningTenant>;
  /** The latest failures, at most {@link MAX_FAILURES}, newest last. */
  readonly failures: readonly FailedTenant[];
  /** When this run began, in milliseconds. Undefined before it begins. */
  readonly startedAtMs?: number;
  /** How many tenants the process or the workers can change at once, as far as it is known. */
  readonly capacity: number;
  readonly durations: Durations;
}

export interface ProgressCounts {
  readonly remaining: number;
  readonly running: number;
  readonly done: number;
  readonly unchanged: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface WaveProgress {
  readonly name: string;
  readonly state: WaveState;
  readonly total: number;
  readonly counts: ProgressCounts;
  readonly maxConcurrent: number;
  readonly tolerated: number;
  readonly soakMs: number;
  readonly isGated: boolean;
  /**
   * The time during which tenants of the wave were changed, until {@link workingSinceMs}. Excludes the time between two
   * runs.
   */
  readonly workMs: number;
  /** Since when some tenants of the wave are being changed. Undefined while none is. */
  readonly workingSinceMs?: number;
  readonly concurrencyMeter: ConcurrencyMeter;
  readonly hosts: ReadonlyMap<string, HostProgress>;
  readonly soakUntilMs?: number;
  readonly health?: { readonly isHealthy: boolean; readonly message: string };
  readonly durations: Durations;
}

/** The progress of a wave at one service, which may have fewer slots than the wave. */
export interface HostProgress {
  readonly counts: ProgressCounts;
  readonly concurrencyMeter: ConcurrencyMeter;
  /** Whether later tenants of the wave have begun before the ones left here. The service then has no free slot. */
  readonly isFull: boolean;
}

export interface Durations {
  readonly count: number;
  readonly sumMs: number;
}

export interface RunningTenant {
  readonly wave: string;
  readonly sinceMs: number;
  readonly attempt: number;
  readonly worker: string;
  /** The latest note about the tenant, for example that it waits for a lock or was reclaimed. */
  readonly note?: string;
}

export interface FailedTenant {
  readonly name: string;
  readonly wave: string;
  readonly error?: TenantError;
}

export const MAX_FAILURES = 50;

/** Folds events into a {@link Progress}. The time for an event doesn't depend on the number of tenants. */
export class ProgressModel implements Progress {
  readonly id: string;
  readonly source: string;
  readonly total: number;
  readonly counts: Writable<ProgressCounts> = createCounts();
  readonly waves: readonly MutableWaveProgress[];
  readonly running = new Map<string, RunningTenant>();
  readonly failures: FailedTenant[] = [];
  readonly durations = { count: 0, sumMs: 0 };
  state: RolloutState | "interrupted";
  reason?: string;
  startedAtMs?: number;
  readonly capacity: number;
  readonly #waves: ReadonlyMap<string, MutableWaveProgress>;
  readonly #tenants = new Map<string, TenantProgress>();

  /** @param capacity how many tenants the process or the workers can change at once, as far as it is known. */
  constructor(report: RolloutReport, capacity = Number.POSITIVE_INFINITY) {
    this.id = report.id;
    this.capacity = capacity;
    this.source = report.source;
    this.total = report.tenants.length;
    this.state = report.state;
    if (report.reason !== undefined) this.reason = report.reason;
    const times = computeWaveTimes(report);
    this.waves = report.waves.map((wave) => buildWaveProgress(wave, times.get(wave.name)?.workMs ?? 0));
    this.#waves = new Map(this.waves.map((wave) => [wave.name, wave]));
    for (const [position, tenant] of report.tenants.entries()) this.#addTenant(tenant, position);
  }

  handleEvent(event: RolloutEvent): void {
    const atMs = Date.parse(event.occurredAt);
    switch (event.kind) {
      case "planned":
        return;
      case "started":
        this.state = "running";
        delete this.reason;
        this.startedAtMs = atMs;
        for (const wave of this.waves) resumeWave(wave);
        return;
      case "wave-started":
        this.#passGates(event.wave);
        this.#updateWave(event.wave, { state: "running" });
        return;
      case "tenant-started": {
        const { wave, attempt, worker, tenant } = event;
        this.#moveTenant(tenant, "running", atMs);
        const failureIndex = this.failures.findIndex(({ name }) => name === tenant);
        if (failureIndex >= 0) this.failures.splice(failureIndex, 1);
        // Deletes the tenant first, so that a retried one moves to the end of the order.
        this.running.delete(tenant);
        this.running.set(tenant, { wave, attempt, worker, sinceMs: atMs });
        return;
      }
      case "tenant-note": {
        const running = this.running.get(event.tenant);
        if (running !== undefined) this.running.set(event.tenant, { ...running, note: event.message });
        return;
      }
      case "tenant-finished":
        this.#finish(event.tenant, event, atMs);
        return;
      case "tenant-skipped": {
        this.running.delete(event.tenant);
        this.#moveTenant(event.tenant, "skipped", atMs);
        const failureIndex = this.failures.findIndex(({ name }) => name === event.tenant);
        if (failureIndex >= 0) this.failures.splice(failureIndex, 1);
        return;
      }
      case "wave-soaking":
        this.#updateWave(event.wave, {
          state: "soaking",
          soakUntilMs: Date.parse(event.until),
        });
        return;
      case "wave-health":
        this.#updateWave(event.wave, {
          state: "checking",
          health: { isHealthy: event.isHealthy, message: event.message },
        });
        return;
      case "wave-finished":
        this.#updateWave(event.wave, { state: "done" });
        return;
      case "waiting":
        this.#updateWave(event.wave, { state: "gated" });
        this.#stopWith("waiting", event.reason);
        return;
      case "stopped":
        for (const wave of this.waves) {
          if (wave.state !== "pending" && wave.state !== "done") wave.state = "stopped";
        }
        this.#stopWith("stopped", event.reason);
        return;
      case "interrupted":
        this.#stopWith("interrupted", event.reason);
        return;
      case "finished":
        this.state = "done";
        return;
    }
  }

  #addTenant(tenant: TenantReport, position: number): void {
    const { name, wave: waveName, state, startedAt, attempts, worker = "", durationMs, error } = tenant;
    const progressState = PROGRESS_STATES[state];
    const wave = this.#waves.get(waveName);
    const host = wave === undefined ? undefined : getOrAddHost(wave, tenant.host);
    const knownTenant: TenantProgress = { wave, host, position, state: progressState };
    this.#tenants.set(name, knownTenant);
    host?.tenants.push(knownTenant);
    this.counts[progressState] += 1;
    if (host !== undefined) host.counts[progressState] += 1;
    if (progressState === "running") {
      const sinceMs = Date.parse(startedAt ?? "");
      this.running.set(name, { wave: waveName, attempt: attempts, worker, sinceMs });
      if (wave !== undefined && !Number.isNaN(sinceMs)) {
        wave.workingSinceMs = Math.min(sinceMs, wave.workingSinceMs ?? sinceMs);
      }
    }
    if (state === "failed") this.#addFailure({ name, wave: waveName, ...(error !== undefined && { error }) });
    if (durationMs !== undefined && error?.phase !== "plan") this.#addDuration(waveName, durationMs);
  }

  #finish(name: string, event: Extract<RolloutEvent, { kind: "tenant-finished" }>, atMs: number): void {
    const { wave, state, durationMs, error } = event;
    this.running.delete(name);
    // A repeated event changes nothing.
    if (!this.#moveTenant(name, state, atMs)) return;
    if (error?.phase !== "plan") this.#addDuration(wave, durationMs);
    if (state === "failed") this.#addFailure({ name, wave, ...(error !== undefined && { error }) });
  }

  /** @returns whether the tenant was in another state before. */
  #moveTenant(name: string, state: keyof ProgressCounts, atMs: number): boolean {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined || tenant.state === state) return false;
    const { wave, host } = tenant;
    if (wave !== undefined && host !== undefined) this.#recordConcurrency(wave, host, atMs);
    for (const counts of [this.counts, wave?.counts, host?.counts]) {
      if (counts === undefined) continue;
      counts[tenant.state] -= 1;
      counts[state] += 1;
    }
    tenant.state = state;
    if (wave !== undefined) {
      if (state === "running") wave.frontier = Math.max(wave.frontier, tenant.position);
      if (wave.counts.running > 0) wave.workingSinceMs ??= atMs;
      else if (wave.workingSinceMs !== undefined) {
        wave.workMs += Math.max(0, atMs - wave.workingSinceMs);
        delete wave.workingSinceMs;
      }
    }
    return true;
  }

  /** Records the pace up to now, before the counts change. */
  #recordConcurrency(
    { concurrencyMeter, counts, durations }: MutableWaveProgress,
    host: MutableHostProgress,
    atMs: number,
  ): void {
    if (Number.isNaN(atMs)) return;
    const halfLifeMs = getHalfLifeMs(durations);
    concurrencyMeter.record(atMs, counts.running, counts.remaining > 0, halfLifeMs);
    host.concurrencyMeter.record(atMs, host.counts.running, host.counts.remaining > 0, halfLifeMs);
  }

  #addDuration(wave: string, durationMs: number): void {
    for (const durations of [this.durations, this.#waves.get(wave)?.durations]) {
      if (durations === undefined) continue;
      durations.count += 1;
      durations.sumMs += durationMs;
    }
  }

  #addFailure(tenant: FailedTenant): void {
    this.failures.push(tenant);
    if (this.failures.length > MAX_FAILURES) this.failures.shift();
  }

  /** If the next wave has begun, somebody has approved the gates before it. */
  #passGates(waveName: string): void {
    for (const wave of this.waves) {
      if (wave.name === waveName) return;
      if (wave.state === "gated") wave.state = "done";
    }
  }

  #updateWave(name: string, update: Partial<Pick<WaveProgress, "state" | "soakUntilMs" | "health">>): void {
    const wave = this.#waves.get(name);
    if (wave !== undefined) Object.assign(wave, update);
  }

  #stopWith(state: Progress["state"], reason: string): void {
    this.state = state;
    this.reason = reason;
  }
}

/** Returns the half-life of a wave's pace. Undefined without durations of its tenants. */
export function getHalfLifeMs({ count, sumMs }: Durations): number | undefined {
  return count === 0 ? undefined : Math.max(MIN_HALF_LIFE_MS, (3 * sumMs) / count);
}

const MIN_HALF_LIFE_MS = 1_000;

type Writable<T> = {
  -readonly [K in keyof T]: T[K] extends ProgressCounts | Durations ? Writable<T[K]> : T[K];
};

interface MutableWaveProgress extends Writable<Omit<WaveProgress, "hosts">> {
  readonly hosts: Map<string, MutableHostProgress>;
  /** The position of the last tenant that this run has begun. */
  frontier: number;
}

interface TenantProgress {
  readonly wave: MutableWaveProgress | undefined;
  readonly host: MutableHostProgress | undefined;
  readonly position: number;
  state: keyof ProgressCounts;
}

class MutableHostProgress implements HostProgress {
  readonly counts = createCounts();
  readonly concurrencyMeter = new ConcurrencyMeter();
  /** In the order in which they begin. */
  readonly tenants: TenantProgress[] = [];
  readonly #wave: MutableWaveProgress;
  #next = 0;

  constructor(wave: MutableWaveProgress) {
    this.#wave = wave;
  }

  get isFull(): boolean {
    while (this.#next < this.tenants.length && this.tenants[this.#next]?.state !== "remaining") this.#next += 1;
    const next = this.tenants[this.#next];
    return next !== undefined && next.position < this.#wave.frontier;
  }
}

function getOrAddHost(wave: MutableWaveProgress, name: string): MutableHostProgress {
  const host = wave.hosts.get(name) ?? new MutableHostProgress(wave);
  wave.hosts.set(name, host);
  return host;
}

/**
 * Resumes a wave together with the rollout. A resumed run reads the wave's real state from the journal. This is the best guess for viewers
 * that only get the events.
 */
function resumeWave(wave: MutableWaveProgress): void {
  if (wave.state === "stopped") wave.state = wave.counts.remaining + wave.counts.running > 0 ? "running" : "checking";
  // The health check runs again.
  if (wave.health?.isHealthy === false) delete wave.health;
}

/** A queued tenant that the end of a run left behind begins when the rollout is resumed. */
const PROGRESS_STATES: Readonly<Record<TenantState, keyof ProgressCounts>> = {
  pending: "remaining",
  queued: "remaining",
  running: "running",
  done: "done",
  unchanged: "unchanged",
  failed: "failed",
  skipped: "skipped",
};

function createCounts(): Writable<ProgressCounts> {
  return { remaining: 0, running: 0, done: 0, unchanged: 0, failed: 0, skipped: 0 };
}

function buildWaveProgress(wave: WaveReport, workMs: number): MutableWaveProgress {
  const counts = createCounts();
  for (const [state, progressState] of Object.entries(PROGRESS_STATES))
    counts[progressState] += wave.counts[state as TenantState];
  return {
    name: wave.name,
    state: wave.state,
    total: wave.tenants,
    counts,
    maxConcurrent: wave.maxConcurrent,
    tolerated: wave.toleratedFailures,
    soakMs: wave.exitCriteria.soakMs,
    isGated: wave.exitCriteria.hasGate,
    durations: { count: 0, sumMs: 0 },
    workMs,
    concurrencyMeter: new ConcurrencyMeter(),
    hosts: new Map(),
    frontier: -1,
    ...(wave.soakUntil !== undefined && { soakUntilMs: Date.parse(wave.soakUntil) }),
    ...(wave.health !== undefined && { health: wave.health }),
  };
}
