import type { RolloutEvent, RolloutEventData } from "../../provider/rollout/model/rollout-event";
import type {
  RolloutReport,
  TenantChange,
  TenantError,
  TenantReport,
  WaveReport,
} from "../../provider/rollout/model/rollout-report";
import type { TenantState } from "../../provider/rollout/model/wave";
import { HOSTILE } from "./hostile-text";

export interface RolloutOptions {
  readonly tenants: number;
  /** The indexes of the tenants that fail, from 0. */
  readonly failing?: readonly number[];
  /** Every n-th tenant already matches its declaration. Default: 5; 0 for none. */
  readonly unchangedEvery?: number;
  /** Text to append to strings from outside, such as names and messages. Default: empty. */
  readonly text?: string;
  /** Returns the name of the tenant at an index. */
  readonly nameOf?: (index: number) => string;
  readonly tolerated?: number;
  readonly changes?: number;
}

/** A rollout from its plan to its end: the report before, all events, and the report after. */
export interface PlayedRollout {
  readonly before: RolloutReport;
  readonly events: readonly RolloutEvent[];
  readonly after: RolloutReport;
}

const START = Date.UTC(2026, 10, 21, 8, 0, 0);

/** Computes a rollout as a coordinator would report it: waves of 2 %, 15 % and the rest, durations of 3 to 20 s. */
export function playRollout(options: RolloutOptions): PlayedRollout {
  const { failing = [], unchangedEvery = 5, text = "", tolerated = 2 } = options;
  const failed = new Set(failing);
  const all = Array.from({ length: options.tenants }, (_, index) => buildTenantReport(index, options, unchangedEvery));
  const sizes = computeWaveSizes(options.tenants);
  const names = ["canary", "early", "rest"].map((name) => `${name}${text}`);
  const waves = sizes.map((size, wave): WaveReport => {
    const name = names[wave] ?? "";
    return {
      name,
      state: "pending",
      tenants: size,
      counts: countStates(all.filter((tenant) => tenant.wave === name)),
      maxConcurrent: [1, 4, 8][wave] ?? 8,
      toleratedFailures: wave === 0 ? 0 : tolerated,
      exitCriteria: { soakMs: wave === 1 ? 600_000 : 0, hasHealthCheck: false, hasGate: wave === 0 },
    };
  });
  const before: RolloutReport = {
    format: 1,
    id: `r-20261121-7f3a${text}`,
    source: `tenants.yaml${text}`,
    state: "planned",
    isActive: true,
    advice: [],
    digest: `sha256:5d3c0f6a${text}`,
    createdAt: formatTime(0),
    counts: countStates(all),
    waves,
    tenants: all,
  };
  return { before, ...play(before, failed, text) };
}

function play(before: RolloutReport, failing: ReadonlySet<number>, text: string) {
  const events: RolloutEvent[] = [];
  const recordEvent = (ms: number, happening: RolloutEventData) =>
    events.push({
      seq: events.length + 1,
      occurredAt: formatTime(ms),
      rollout: before.id,
      ...happening,
    } as RolloutEvent);
  const tenants = [...before.tenants];
  const waves = [...before.waves];
  let clock = 60_000;
  let reason: string | undefined;
  recordEvent(0, {
    kind: "planned",
    tenants: tenants.length,
    changing: tenants.filter(({ state }) => state === "pending").length,
    digest: before.digest,
  });
  recordEvent(clock, { kind: "started", resumed: false });
  for (const [position, wave] of waves.entries()) {
    if (reason !== undefined) break;
    const startedAt = formatTime(clock);
    recordEvent(clock, { kind: "wave-started", wave: wave.name, tenants: wave.tenants });
    const slots = Array.from({ length: wave.maxConcurrent }, () => clock);
    const happenings: [ms: number, happening: RolloutEventData][] = [];
    let failed = 0;
    for (const [index, tenant] of tenants.entries()) {
      if (tenant.wave !== wave.name || tenant.state !== "pending") continue;
      if (failed > wave.toleratedFailures) break;
      const slot = slots.indexOf(Math.min(...slots));
      const startedAt = slots[slot] ?? clock;
      const durationMs = 3_000 + ((index * 7_919) % 17_000);
      const isFailing = failing.has(index);
      const end = startedAt + durationMs;
      slots[slot] = end;
      const worker = `build-${slot % 3}:${4_100 + slot}${text}`;
      const error = isFailing ? buildTenantError(index, text) : undefined;
      const state = isFailing ? "failed" : "done";
      happenings.push([
        startedAt,
        { kind: "tenant-started", wave: wave.name, tenant: tenant.name, attempt: 1, worker },
      ]);
      if (index % 37 === 5) {
        const message = `Waits for the stack's lock, held by another run${text}`;
        happenings.push([startedAt + 1, { kind: "tenant-note", wave: wave.name, tenant: tenant.name, message }]);
      }
      happenings.push([
        end,
        {
          kind: "tenant-finished",
          wave: wave.name,
          tenant: tenant.name,
          state,
          durationMs,
          ...(error !== undefined && { error }),
        },
      ]);
      failed += isFailing ? 1 : 0;
      tenants[index] = {
        ...tenant,
        state,
        attempts: 1,
        worker,
        startedAt: formatTime(startedAt),
        finishedAt: formatTime(end),
        durationMs,
        ...(error !== undefined && { error }),
      };
    }
    happenings.sort(([a], [b]) => a - b);
    for (const [ms, happening] of happenings) recordEvent(ms, happening);
    clock = Math.max(clock, ...slots);
    const countTenants = () => countStates(tenants.filter(({ wave: name }) => name === wave.name));
    if (failed > wave.toleratedFailures) {
      reason = `${failed} tenants of wave "${wave.name}" failed, and ${wave.toleratedFailures} may.`;
      recordEvent(clock, { kind: "stopped", reason });
      waves[position] = { ...wave, state: "stopped", startedAt, counts: countTenants() };
      break;
    }
    let soak: Partial<WaveReport> = {};
    const { soakMs } = wave.exitCriteria;
    if (soakMs > 0) {
      soak = { soakUntil: formatTime(clock + soakMs), health: { isHealthy: true, message: `All is well${text}` } };
      recordEvent(clock, { kind: "wave-soaking", wave: wave.name, until: formatTime(clock + soakMs) });
      clock += soakMs;
      recordEvent(clock, { kind: "wave-health", wave: wave.name, isHealthy: true, message: `All is well${text}` });
    }
    const { done, failed: failedCount } = countTenants();
    recordEvent(clock, { kind: "wave-finished", wave: wave.name, done, failed: failedCount });
    waves[position] = {
      ...wave,
      ...soak,
      state: "done",
      startedAt,
      finishedAt: formatTime(clock),
      counts: countTenants(),
    };
  }
  const counts = countStates(tenants);
  if (reason === undefined) {
    recordEvent(clock, {
      kind: "finished",
      done: counts.done,
      unchanged: counts.unchanged,
      failed: counts.failed,
    });
  }
  const after: RolloutReport = {
    ...before,
    state: reason === undefined ? "done" : "stopped",
    isActive: false,
    ...(reason !== undefined && { reason }),
    advice:
      counts.failed === 0
        ? []
        : [
            {
              reason: `Fix the failures${text}, then resume the remaining tenants.`,
              command: `email-security rollout resume ${before.id}`,
            },
            {
              reason: "Or roll back what was changed.",
              command: `email-security rollout rollback ${before.id}`,
            },
          ],
    startedAt: formatTime(60_000),
    finishedAt: formatTime(clock),
    counts,
    waves: waves.map((wave) => ({
      ...wave,
      counts: countStates(tenants.filter((tenant) => tenant.wave === wave.name)),
    })),
    tenants,
  };
  return { events, after };
}

function buildTenantReport(
  index: number,
  { tenants, text = "", nameOf, changes = 3 }: RolloutOptions,
  unchangedEvery: number,
): TenantReport {
  const sizes = computeWaveSizes(tenants);
  const [canary = 0, early = 0] = sizes;
  const wave = index < canary ? "canary" : index < canary + early ? "early" : "rest";
  const isUnchanged = unchangedEvery > 0 && index % unchangedEvery === unchangedEvery - 1;
  const name = nameOf?.(index) ?? `${NAMES[index % NAMES.length]}-${String(index).padStart(3, "0")}${text}`;
  return {
    name,
    labels: { region: ["eu", "us", "apac"][index % 3] ?? "", tier: `${"gold"}${text}` },
    wave: `${wave}${text}`,
    state: isUnchanged ? "unchanged" : "pending",
    host: `mail-security-${index % 4}.example${text}`,
    address: `https://mail-security-${index % 4}.example${text}`,
    keySource: `the environment variable ${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_KEY${text}`,
    stack: name,
    planned: isUnchanged ? { added: 0, changed: 0, removed: 0 } : { added: changes - 1, changed: 1, removed: 0 },
    changes: isUnchanged
      ? []
      : Array.from({ length: Math.min(changes, 20) }, (_, change) => buildTenantChange(change, index, text)),
    severities: { danger: index % 50 === 7 ? 1 : 0, warning: index % 20 === 3 ? 2 : 0 },
    attempts: 0,
  };
}

const NAMES = ["acme", "globex", "initech", "umbrella", "hooli", "stark-industries", "wayne", "northwind"];

function buildTenantChange(change: number, index: number, text: string): TenantChange {
  if (change === 2) return { operation: "add", kind: "vip", value: `ceo@tenant-${index}.example${text}` };
  if (change === 1) {
    return { operation: "change", kind: "entry", list: "allow → deny", value: `news-${index}.example${text}` };
  }
  return { operation: "add", kind: "entry", list: "deny", value: `phish-${change}.example${text}` };
}

function buildTenantError(index: number, text: string): TenantError {
  const errors: readonly TenantError[] = [
    {
      code: "ERR_AUTH",
      message: `The service at mail-security.example refused the key (401) on GET /vip-employees.${text}`,
      advice: `Put a key that may read and write the lists into \`ACME_KEY\`, and resume.${text}`,
      phase: "apply",
    },
    {
      code: "ERR_ROLLOUT_LOCKED",
      message: `The stack is locked by another run since 2026-11-21T07:12:00Z, and was so for 10 minutes.${text}`,
      advice: `Wait for the other run, or release its lock with \`pulumi cancel\`, and resume.${text}`,
      phase: "apply",
    },
    {
      code: "ERR_ROLLOUT_CHANGED",
      message: `The tenant changed since it was planned: deny "evil.example" is there now.${text}`,
      advice: `Plan the rollout again.${text}`,
      phase: "plan",
    },
  ];
  return errors[index % errors.length] as TenantError;
}

function computeWaveSizes(tenants: number): number[] {
  const canary = Math.max(1, Math.round(tenants * 0.02));
  const early = Math.min(tenants - canary, Math.max(1, Math.round(tenants * 0.15)));
  return [canary, early, tenants - canary - early].filter((size) => size > 0);
}

export function countStates(tenants: readonly TenantReport[]): Record<TenantState, number> {
  const counts = { pending: 0, queued: 0, running: 0, unchanged: 0, done: 0, failed: 0, skipped: 0 };
  for (const { state } of tenants) counts[state] += 1;
  return counts;
}

function formatTime(ms: number): string {
  return new Date(START + ms).toISOString();
}

/** One rollout of each kind. */
export const rollouts = {
  small: playRollout({ tenants: 3 }),
  middle: playRollout({ tenants: 30, failing: [7] }),
  stopped: playRollout({ tenants: 300, failing: [20, 31, 42, 43] }),
  tolerated: playRollout({ tenants: 300, failing: [20, 100, 181] }),
  large: playRollout({
    tenants: 1_000,
    failing: Array.from({ length: 60 }, (_, n) => 200 + n * 11),
    tolerated: 200,
  }),
  hostile: playRollout({ tenants: 12, failing: [2, 5], text: Object.values(HOSTILE).join(" ") }),
} as const;

/** Returns a rollout with the text in every field that outsiders control. */
export function playTextRollout(text: string, tenants = 8): PlayedRollout {
  return playRollout({ tenants, failing: [2, 5], text });
}
