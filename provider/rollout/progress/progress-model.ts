import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport, TenantError, TenantReport, WaveReport } from "../model/rollout-report";
import type { RolloutState, TenantState, WaveState } from "../model/wave";
import { waveTimes } from "../report/wave-times";
import { Pace } from "./pace";

/** How far a rollout has come: what the journal knew when this run began, and all that happened since. */
export interface Progress {
  readonly id: string;
  readonly source: string;
  /** `interrupted`: by a person; what runs is let finish. */
  readonly state: RolloutState | "interrupted";
  /** Why it stopped, waits or was interrupted. */
  readonly reason?: string;
  readonly total: number;
  readonly counts: ProgressCounts;
  readonly waves: readonly WaveProgress[];
  /** By the tenant's name, in the order in which they were begun. */
  readonly running: ReadonlyMap<string, RunningTenant>;
  /** The last ones, at most {@link MOST_FAILURES}; the newest last. */
  readonly failures: readonly FailedTenant[];
  /** When this run began, in milliseconds; undefined before it did. */
  readonly startedAtMs?: number;
  /** How many tenants whoever does the work has hands for, as far as that is known. */
  readonly capacity: number;
  /** Of all tenants that were changed. */
  readonly durations: Durations;
}

/** How many tenants nothing was done for yet, are being changed, or are through. */
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
  /** For how long tenants of it were being changed, until {@link workingSinceMs}: nights between two runs are not in it. */
  readonly workMs: number;
  /** Since when some of its tenants are being changed; undefined while none is. */
  readonly workingSinceMs?: number;
  readonly pace: Pace;
  /** By the service's host. */
  readonly hosts: ReadonlyMap<string, HostProgress>;
  readonly soakUntilMs?: number;
  readonly health?: { readonly isWell: boolean; readonly message: string };
  readonly durations: Durations;
}

/** How far a wave is at one service: its address may have fewer places than the wave. */
export interface HostProgress {
  readonly counts: ProgressCounts;
  readonly pace: Pace;
  /** Whether later tenants of the wave were begun before those that are left here: there is no place for them now. */
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
  /** The last thing that was said of it: that it waits for a lock, was taken over. */
  readonly note?: string;
}

export interface FailedTenant {
  readonly name: string;
  readonly wave: string;
  readonly error?: TenantError;
}

/** So many failures are remembered; the report has all. */
export const MOST_FAILURES = 50;

/** Folds events into a {@link Progress}; each takes the same time, however many tenants there are. */
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
   * @param report what is known when the first event comes.
   * @param capacity how many tenants whoever does the work has hands for, as far as that is known.
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
        // One that is begun again is among the newest.
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
    // Told again, it is nothing new.
    if (!this.#move(name, state, atMs)) return;
    if (error?.phase !== "plan") this.#measure(wave, durationMs);
    if (state === "failed") this.#failed({ name, wave, ...(error !== undefined && { error }) });
  }

  /** Whether it was in another state before. */
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

  /** What ran until now is counted, before it is otherwise. */
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

  /** Who goes on with the next wave has been let through. */
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

/** After how long what was seen of a wave's pace counts half; undefined while nothing is known of its tenants. */
export function halfLife({ count, sumMs }: Durations): number | undefined {
  return count === 0 ? undefined : Math.max(MIN_HALF_MS, (3 * sumMs) / count);
}

const MIN_HALF_MS = 1_000;

type Writable<T> = {
  -readonly [K in keyof T]: T[K] extends ProgressCounts | Durations ? Writable<T[K]> : T[K];
};

interface OpenWave extends Writable<Omit<WaveProgress, "hosts">> {
  readonly hosts: Map<string, Host>;
  /** The place of the last tenant that this run has begun. */
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
  /** In the order in which they are begun. */
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
 * A wave that was begun goes on with the rollout. What it is then, who goes on with a rollout reads in the journal; this is
 * for who has only its events.
 */
function goOn(wave: OpenWave): void {
  if (wave.state === "stopped")
    wave.state = wave.counts.left + wave.counts.running > 0 ? "running" : "checking";
  // It is looked at again.
  if (wave.health?.isWell === false) delete wave.health;
}

/** One that a rollout's end left out is begun when the rollout goes on. */
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
