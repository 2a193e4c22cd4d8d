import type { Journal, RolloutRecord, TenantRecord } from "../journal/journal";
import type { TenantState } from "../wave";
import {
  type Advice,
  REPORT_FORMAT,
  type RolloutReport,
  type TenantReport,
  type WaveReport,
} from "./rollout-report";

/**
 * The report of a rollout, as the journal has it.
 *
 * @param isHeld whether somebody is at it now.
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`)
 */
export async function reportOf(journal: Journal, id: string, isHeld: boolean): Promise<RolloutReport> {
  const record = await journal.record(id);
  const [waves, tenants] = [await journal.waves(id), await journal.tenants(id)];
  const { spec, state, digest, reason, createdAtMs, startedAtMs, finishedAtMs } = record;
  const counts = countsOf(tenants);
  return {
    format: REPORT_FORMAT,
    id,
    source: spec.source,
    state,
    isHeld,
    ...(reason === undefined ? {} : { reason }),
    advice: adviceOn(record, tenants, isHeld),
    digest,
    createdAt: iso(createdAtMs),
    ...(startedAtMs === undefined ? {} : { startedAt: iso(startedAtMs) }),
    ...(finishedAtMs === undefined ? {} : { finishedAt: iso(finishedAtMs) }),
    ...(spec.rollsBack === undefined ? {} : { rollsBack: spec.rollsBack }),
    ...(spec.rollsBackTo === undefined ? {} : { rollsBackTo: spec.rollsBackTo }),
    counts,
    waves: waves.map((wave, index): WaveReport => {
      const {
        name = "",
        maxConcurrent = 1,
        tolerated = 0,
        soakMs = 0,
        gate = false,
        health,
        unseen = [],
      } = spec.waves[index] ?? {};
      const own = tenants.filter((tenant) => tenant.wave === index);
      return {
        name,
        state:
          state === "stopped" && wave.state !== "done" && wave.state !== "pending" ? "stopped" : wave.state,
        tenants: own.length,
        counts: countsOf(own),
        maxConcurrent,
        tolerated,
        after: { soakMs, isChecked: health !== undefined, isGated: gate },
        ...(unseen.length === 0 ? {} : { unseen: unseen.map((one) => one.name) }),
        ...(wave.startedAtMs === undefined ? {} : { startedAt: iso(wave.startedAtMs) }),
        ...(wave.finishedAtMs === undefined ? {} : { finishedAt: iso(wave.finishedAtMs) }),
        ...(wave.soakUntilMs === undefined ? {} : { soakUntil: iso(wave.soakUntilMs) }),
        ...(wave.health === undefined ? {} : { health: wave.health }),
      };
    }),
    tenants: tenants.map((tenant) => reportOfTenant(tenant, spec.waves[tenant.wave]?.name ?? "")),
  };
}

function reportOfTenant(tenant: TenantRecord, wave: string): TenantReport {
  const { name, state, target, summary, attempt, worker, error, startedAtMs, finishedAtMs } = tenant;
  return {
    name,
    labels: target.labels,
    wave,
    state,
    host: URL.parse(target.baseUrl)?.host ?? target.baseUrl,
    stack: target.stack,
    planned: summary?.planned ?? { added: 0, changed: 0, removed: 0 },
    changes: summary?.changes ?? [],
    alarms: summary?.alarms ?? { danger: 0, warning: 0 },
    ...(summary?.left === undefined ? {} : { left: summary.left }),
    ...(error === undefined ? {} : { error }),
    attempts: attempt,
    ...(worker === undefined ? {} : { worker }),
    ...(startedAtMs === undefined ? {} : { startedAt: iso(startedAtMs) }),
    ...(finishedAtMs === undefined ? {} : { finishedAt: iso(finishedAtMs) }),
    ...(startedAtMs === undefined || finishedAtMs === undefined
      ? {}
      : { durationMs: finishedAtMs - startedAtMs }),
  };
}

function adviceOn(
  { id, state, spec }: RolloutRecord,
  tenants: readonly TenantRecord[],
  isHeld: boolean,
): readonly Advice[] {
  const counts = countsOf(tenants);
  const unplanned = tenants.filter(({ error }) => error?.phase === "plan").length;
  const anew: Advice = {
    why: `${unplanned} of its tenants could not be planned, and resuming leaves them as they are. Once their causes are mended, plan them anew:`,
    command:
      spec.rollsBack === undefined
        ? `email-security rollout ${spec.source}`
        : `email-security rollout rollback ${spec.rollsBack}`,
  };
  const rollback: Advice = {
    why: "To take back what it did, to what each tenant held before:",
    command: `email-security rollout rollback ${id}`,
  };
  const isTouched = counts.done + counts.failed > 0 && spec.rollsBack === undefined;
  switch (state) {
    case "waiting":
      return [
        { why: "When what it did is well, go on:", command: `email-security rollout continue ${id}` },
        ...(isTouched ? [rollback] : []),
      ];
    case "stopped":
      return [
        {
          why: "Once the cause is mended, go on: what failed is tried again, and what is done stays done:",
          command: `email-security rollout --resume ${id}`,
        },
        ...(isTouched ? [rollback] : []),
      ];
    case "running":
      if (isHeld) return [];
      return [
        {
          why: "It was interrupted. Go on where it was:",
          command: `email-security rollout --resume ${id}`,
        },
        ...(isTouched ? [rollback] : []),
      ];
    case "done":
      return [
        ...(counts.failed > unplanned
          ? [
              {
                why: "Once their causes are mended, try the failed tenants again:",
                command: `email-security rollout --resume ${id}`,
              },
            ]
          : []),
        ...(unplanned > 0 ? [anew] : []),
      ];
    default:
      return [];
  }
}

function countsOf(tenants: readonly TenantRecord[]): Record<TenantState, number> {
  const counts = { pending: 0, released: 0, running: 0, unchanged: 0, done: 0, failed: 0 };
  for (const { state } of tenants) counts[state] += 1;
  return counts;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
