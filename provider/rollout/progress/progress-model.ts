import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport, TenantError, TenantReport, WaveReport } from "../model/rollout-report";
import type { RolloutState, TenantState, WaveState } from "../model/wave";
import { waveTimes } from "../report/wave-times";
import { Pace } from "./pace";

/** The progress of a rollout: its state in the journal at the beginning of this run, and all events since. */
export interface Progress {
  readonly id: string;
  readonly source: string;
  /** `interrupted`: a person interrupted it, and the running tenants are being finished. */
  readonly state: RolloutState | "interrupted";
  /** Why it stopped, is paused, or was interrupted. */
  readonly reason?: string;
  readonly total: number;
  readonly counts: ProgressCounts;
  readonly waves: readonly WaveProgress[];
  /** By tenant name, in the order in which the tenants began. */
  readonly running: ReadonlyMap<string, RunningTenant>;
  /** The latest failures, at most {@link MOST_FAILURES}, newest last. */
  readonly failures: readonly FailedTenant[];
  /** When this run began, in milliseconds. Undefined before it begins. */
  readonly startedAtMs?: number;
  /** How many tenants the process or the workers can change at once, as far as it is known. */
  readonly capacity: number;
  /** The durations of all tenants that were changed. */
  readonly durations: Durations;
}

/** The number of tenants by their progress. */
export interface ProgressCounts {
  readonly left: number;
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
  readonly gate: boolean;
  /** For how long tenants of the wave were being changed, until {@link workingSinceMs}. Excludes the time between two runs. */
  readonly workMs: number;
  /** Since when some tenants of the wave are being changed. Undefined while none is. */
  readonly workingSinceMs?: number;
  readonly pace: Pace;
  /** By the host of the service. */
  readonly hosts: ReadonlyMap<string, HostProgress>;
  readonly soakUntilMs?: number;
  readonly health?: { readonly isWell: boolean; readonly message: string };
  readonly durations: Durations;
}

/** The progress of a wave at one service, which may have fewer places than the wave. */
export interface HostProgress {
  readonly counts: ProgressCounts;
  readonly pace: Pace;
  /** Whether later tenants of the wave have begun before the ones left here. Then no place at the service is free. */
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
  /** The latest note about the tenant, for example that it waits for a lock or was taken over. */
  readonly note?: string;
}

export interface FailedTenant {
  readonly name: string;
  readonly wave: string;
  readonly error?: TenantError;
}

/** The maximum number of failures to keep. The report has all of them. */
export const MOST_FAILURES = 50;

/** Folds events into a {@link Progress}. The time for an event doesn't depend on the number of tenants. */
export class ProgressModel implements Progress {
  readonly id: string;
  readonly source: string;
  readonly total: number;
  readonly counts: Writable<ProgressCounts> = none();
  readonly waves: readonly OpenWave[];
  readonly running = new Map<string, RunningTenant>();
  readonly failures: FailedTenant[] = [];
  readonly durations = { count: 0, sumMs: 0 };
  state: RolloutState | "interrupted";
  reason?: string;
  startedAtMs?: number;
  readonly capacity: number;
  readonly #waves: ReadonlyMap<string, OpenWave>;
  readonly #tenants = new Map<string, KnownTenant>();

  /**
   * @param report the state of the rollout before the first event.
   * @param capacity how many tenants the process or the workers can change at once, as far as it is known.
   */
  constructor(report: RolloutReport, capacity = Number.POSITIVE_INFINITY) {
    this.id = report.id;
    this.capacity = capacity;
    this.source = report.source;
    this.total = report.tenants.length;
    this.state = report.state;
    if (report.reason !== undefined) this.reason = report.reason;
    const times = waveTimes(report);
    this.waves = report.waves.map((wave) => waveProgress(wave, times.get(wave.name)?.workMs ?? 0));
    this.#waves = new Map(this.waves.map((wave) => [wave.name, wave]));
    for (const [position, tenant] of report.tenants.entries()) this.#remember(tenant, position);
  }

  happened(event: RolloutEvent): void {
    const atMs = Date.parse(event.at);
    switch (event.kind) {
      case "planned":
        return;
      case "started":
        this.state = "running";
        delete this.reason;
        this.startedAtMs = atMs;
        for (const wave of this.waves) goOn(wave);
        return;
      case "wave-started":
        this.#passGates(event.wave);
        this.#change(event.wave, { state: "running" });
        return;
      case "tenant-started": {
        const { wave, attempt, worker, tenant } = event;
        this.#move(tenant, "running", atMs);
        const before = this.failures.findIndex(({ name }) => name === tenant);
        if (before >= 0) this.failures.splice(before, 1);
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
        this.#move(event.tenant, "skipped", atMs);
        const before = this.failures.findIndex(({ name }) => name === event.tenant);
        if (before >= 0) this.failures.splice(before, 1);
        return;
      }
      case "wave-soaking":
        this.#change(event.wave, {
          state: "soaking",
          soakUntilMs: Date.parse(event.until),
        });
        return;
      case "wave-health":
        this.#change(event.wave, {
          state: "checking",
          health: { isWell: event.isWell, message: event.message },
        });
        return;
      case "wave-finished":
        this.#change(event.wave, { state: "done" });
        return;
      case "waiting":
        this.#change(event.wave, { state: "gated" });
        this.#halt("waiting", event.reason);
        return;
      case "stopped":
        for (const wave of this.waves) {
          if (wave.state !== "pending" && wave.state !== "done") wave.state = "stopped";
        }
        this.#halt("stopped", event.reason);
        return;
      case "interrupted":
        this.#halt("interrupted", event.reason);
        return;
      case "finished":
        this.state = "done";
        return;
    }
  }

  #remember(tenant: TenantReport, position: number): void {
    const { name, wave: waveName, state, startedAt, attempts, worker = "", durationMs, error } = tenant;
    const seen = SEEN[state];
    const wave = this.#waves.get(waveName);
    const host = wave === undefined ? undefined : hostOf(wave, tenant.host);
    const known: KnownTenant = { wave, host, position, state: seen };
    this.#tenants.set(name, known);
    host?.tenants.push(known);
    this.counts[seen] += 1;
    if (host !== undefined) host.counts[seen] += 1;
    if (seen === "running") {
      const sinceMs = Date.parse(startedAt ?? "");
      this.running.set(name, { wave: waveName, attempt: attempts, worker, sinceMs });
      if (wave !== undefined && !Number.isNaN(sinceMs)) {
        wave.workingSinceMs = Math.min(sinceMs, wave.workingSinceMs ?? sinceMs);
      }
    }
    if (state === "failed") this.#failed({ name, wave: waveName, ...(error !== undefined && { error }) });
    if (durationMs !== undefined && error?.phase !== "plan") this.#measure(waveName, durationMs);
  }

  #finish(name: string, event: Extract<RolloutEvent, { kind: "tenant-finished" }>, atMs: number): void {
    const { wave, state, durationMs, error } = event;
    this.running.delete(name);
    // A repeated event changes nothing.
    if (!this.#move(name, state, atMs)) return;
    if (error?.phase !== "plan") this.#measure(wave, durationMs);
    if (state === "failed") this.#failed({ name, wave, ...(error !== undefined && { error }) });
  }

  /** @returns whether the tenant was in another state before. */
  #move(name: string, state: keyof ProgressCounts, atMs: number): boolean {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined || tenant.state === state) return false;
    const { wave, host } = tenant;
    if (wave !== undefined && host !== undefined) this.#pass(wave, host, atMs);
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
  #pass({ pace, counts, durations }: OpenWave, host: Host, atMs: number): void {
    if (Number.isNaN(atMs)) return;
    const halfMs = halfLife(durations);
    pace.pass(atMs, counts.running, counts.left > 0, halfMs);
    host.pace.pass(atMs, host.counts.running, host.counts.left > 0, halfMs);
  }

  #measure(wave: string, durationMs: number): void {
    for (const durations of [this.durations, this.#waves.get(wave)?.durations]) {
      if (durations === undefined) continue;
      durations.count += 1;
      durations.sumMs += durationMs;
    }
  }

  #failed(tenant: FailedTenant): void {
    this.failures.push(tenant);
    if (this.failures.length > MOST_FAILURES) this.failures.shift();
  }

  /** If the next wave has begun, somebody has approved the gates before it. */
  #passGates(next: string): void {
    for (const wave of this.waves) {
      if (wave.name === next) return;
      if (wave.state === "gated") wave.state = "done";
    }
  }

  #change(name: string, change: Partial<Pick<WaveProgress, "state" | "soakUntilMs" | "health">>): void {
    const wave = this.#waves.get(name);
    if (wave !== undefined) Object.assign(wave, change);
  }

  #halt(state: Progress["state"], reason: string): void {
    this.state = state;
    this.reason = reason;
  }
}

/** The half-life of a wave's pace. Undefined without durations of its tenants. */
export function halfLife({ count, sumMs }: Durations): number | undefined {
  return count === 0 ? undefined : Math.max(MIN_HALF_MS, (3 * sumMs) / count);
}

const MIN_HALF_MS = 1_000;

type Writable<T> = {
  -readonly [K in keyof T]: T[K] extends ProgressCounts | Durations ? Writable<T[K]> : T[K];
};

interface OpenWave extends Writable<Omit<WaveProgress, "hosts">> {
  readonly hosts: Map<string, Host>;
  /** The position of the last tenant that this run has begun. */
  frontier: number;
}

interface KnownTenant {
  readonly wave: OpenWave | undefined;
  readonly host: Host | undefined;
  readonly position: number;
  state: keyof ProgressCounts;
}

class Host implements HostProgress {
  readonly counts = none();
  readonly pace = new Pace();
  /** In the order in which they begin. */
  readonly tenants: KnownTenant[] = [];
  readonly #wave: OpenWave;
  #next = 0;

  constructor(wave: OpenWave) {
    this.#wave = wave;
  }

  get isFull(): boolean {
    while (this.#next < this.tenants.length && this.tenants[this.#next]?.state !== "left") this.#next += 1;
    const next = this.tenants[this.#next];
    return next !== undefined && next.position < this.#wave.frontier;
  }
}

function hostOf(wave: OpenWave, name: string): Host {
  const host = wave.hosts.get(name) ?? new Host(wave);
  wave.hosts.set(name, host);
  return host;
}

/**
 * Resumes a wave together with the rollout. A resumed run reads the wave's real state from the journal. This is the best guess for viewers
 * that only get the events.
 */
function goOn(wave: OpenWave): void {
  if (wave.state === "stopped")
    wave.state = wave.counts.left + wave.counts.running > 0 ? "running" : "checking";
  // The health check runs again.
  if (wave.health?.isWell === false) delete wave.health;
}

/** A released tenant that the end of a run left behind begins when the rollout is resumed. */
const SEEN: Readonly<Record<TenantState, keyof ProgressCounts>> = {
  pending: "left",
  released: "left",
  running: "running",
  done: "done",
  unchanged: "unchanged",
  failed: "failed",
  skipped: "skipped",
};

function none(): Writable<ProgressCounts> {
  return { left: 0, running: 0, done: 0, unchanged: 0, failed: 0, skipped: 0 };
}

function waveProgress(wave: WaveReport, workMs: number): OpenWave {
  const counts = none();
  for (const [state, seen] of Object.entries(SEEN)) counts[seen] += wave.counts[state as TenantState];
  return {
    name: wave.name,
    state: wave.state,
    total: wave.tenants,
    counts,
    maxConcurrent: wave.maxConcurrent,
    tolerated: wave.tolerated,
    soakMs: wave.after.soakMs,
    gate: wave.after.isGated,
    durations: { count: 0, sumMs: 0 },
    workMs,
    pace: new Pace(),
    hosts: new Map(),
    frontier: -1,
    ...(wave.soakUntil !== undefined && { soakUntilMs: Date.parse(wave.soakUntil) }),
    ...(wave.health !== undefined && { health: wave.health }),
  };
}
