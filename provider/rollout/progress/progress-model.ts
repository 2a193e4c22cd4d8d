import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport, TenantError, TenantReport, WaveReport } from "../report/rollout-report";
import type { RolloutState, TenantState, WaveState } from "../wave";

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
  readonly startedAtMs?: number;
  /** When the last of its tenants was through, so far. */
  readonly lastAtMs?: number;
  readonly soakUntilMs?: number;
  readonly health?: { readonly isWell: boolean; readonly message: string };
  readonly durations: Durations;
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
  readonly waves: readonly Writable<WaveProgress>[];
  readonly running = new Map<string, RunningTenant>();
  readonly failures: FailedTenant[] = [];
  readonly durations = { count: 0, sumMs: 0 };
  state: RolloutState | "interrupted";
  reason?: string;
  startedAtMs?: number;
  readonly #waves: ReadonlyMap<string, Writable<WaveProgress>>;
  readonly #tenants = new Map<string, { readonly wave: string; state: keyof ProgressCounts }>();

  /** @param report what is known when the first event comes. */
  constructor(report: RolloutReport) {
    this.id = report.id;
    this.source = report.source;
    this.total = report.tenants.length;
    this.state = report.state;
    if (report.reason !== undefined) this.reason = report.reason;
    this.waves = report.waves.map(waveProgress);
    this.#waves = new Map(this.waves.map((wave) => [wave.name, wave]));
    for (const tenant of report.tenants) this.#remember(tenant);
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
        return;
      case "wave-started":
        this.#passGates(event.wave);
        this.#change(event.wave, { state: "running", startedAtMs: atMs });
        return;
      case "tenant-started": {
        const { wave, attempt, worker, tenant } = event;
        this.#move(tenant, "running");
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
        this.#change(event.wave, { lastAtMs: atMs });
        this.#finish(event.tenant, event);
        return;
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

  #remember(tenant: TenantReport): void {
    const { name, wave, state, startedAt, finishedAt, attempts, worker = "", durationMs, error } = tenant;
    const seen = SEEN[state];
    this.#tenants.set(name, { wave, state: seen });
    this.counts[seen] += 1;
    if (seen === "running") {
      this.running.set(name, { wave, attempt: attempts, worker, sinceMs: Date.parse(startedAt ?? "") });
    }
    if (state === "failed") this.#failed({ name, wave, ...(error !== undefined && { error }) });
    const lastAtMs = Math.max(Date.parse(finishedAt ?? ""), this.#waves.get(wave)?.lastAtMs ?? 0);
    if (!Number.isNaN(lastAtMs)) this.#change(wave, { lastAtMs });
    if (durationMs !== undefined && error?.phase !== "plan") this.#measure(wave, durationMs);
  }

  #finish(name: string, event: Extract<RolloutEvent, { kind: "tenant-finished" }>): void {
    const { wave, state, durationMs, error } = event;
    this.running.delete(name);
    // Told again, it is nothing new.
    if (!this.#move(name, state)) return;
    if (error?.phase !== "plan") this.#measure(wave, durationMs);
    if (state === "failed") this.#failed({ name, wave, ...(error !== undefined && { error }) });
  }

  /** Whether it was in another state before. */
  #move(name: string, state: keyof ProgressCounts): boolean {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined || tenant.state === state) return false;
    for (const counts of [this.counts, this.#waves.get(tenant.wave)?.counts]) {
      if (counts === undefined) continue;
      counts[tenant.state] -= 1;
      counts[state] += 1;
    }
    tenant.state = state;
    return true;
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

  #change(name: string, change: Partial<WaveProgress>): void {
    const wave = this.#waves.get(name);
    if (wave !== undefined) Object.assign(wave, change);
  }

  #halt(state: Progress["state"], reason: string): void {
    this.state = state;
    this.reason = reason;
  }
}

type Writable<T> = {
  -readonly [K in keyof T]: T[K] extends ProgressCounts | Durations ? Writable<T[K]> : T[K];
};

/** One that a rollout's end left out is begun when the rollout goes on. */
const SEEN: Readonly<Record<TenantState, keyof ProgressCounts>> = {
  pending: "left",
  released: "left",
  running: "running",
  done: "done",
  unchanged: "unchanged",
  failed: "failed",
};

function none(): Writable<ProgressCounts> {
  return { left: 0, running: 0, done: 0, unchanged: 0, failed: 0 };
}

function waveProgress(wave: WaveReport): Writable<WaveProgress> {
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
    ...atMs("startedAtMs", wave.startedAt),
    ...atMs("soakUntilMs", wave.soakUntil),
    ...(wave.health !== undefined && { health: wave.health }),
  };
}

function atMs<K extends string>(name: K, time: string | undefined): { [name in K]?: number } {
  return (time === undefined ? {} : { [name]: Date.parse(time) }) as { [name in K]?: number };
}
