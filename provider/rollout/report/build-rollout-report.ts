import { omitUndefined } from "../../model/omit-undefined";
import type { Journal } from "../journal/journal";
import type { JournalReader } from "../journal/journal-reader";
import { findCompleteRollback, readRollbackProgress } from "../journal/rollback-progress";
import type { RolloutRecord, SkippedTenant, TenantRecord } from "../journal/rollout-record";
import { findRetryableRollouts, readRolloutTallies, readWaitStart } from "../journal/rollout-tally";
import { ZERO_COUNTS } from "../journal/run-state";
import { isOpenRollout } from "../journal/select-rollout";
import { createSkipLookup, readActiveSkips } from "../journal/tenant-skips";
import type { RolloutCommands } from "../model/rollout-commands";
import {
  type Advice,
  REPORT_FORMAT,
  type RolloutReport,
  type SkippedReport,
  type TenantReport,
  type WaveReport,
} from "../model/rollout-report";
import type { RolloutState, TenantState } from "../model/wave";
import { describeKeySource } from "../targets/read-key";
import { needsNewRollout, replaceResumeAdvice } from "./failure-advice";
import { getRemainingRollbackAdvice } from "./remaining-rollback-advice";

/**
 * Builds the report of a rollout from the journal.
 *
 * @param isLocked whether a run has locked the rollout.
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`)
 */
export async function buildRolloutReport(
  journal: Journal,
  id: string,
  isLocked: boolean,
  commands: RolloutCommands,
): Promise<RolloutReport> {
  const { record, tenants, report } = await readRecordedRollout(journal, id, isLocked);
  return {
    ...report,
    advice: [
      ...(await getRolloutAdvice(journal, record, isLocked, commands)),
      ...(await adviseSkips(journal, record, tenants, commands)),
      ...adviseAbandon(record, tenants, commands),
    ],
  };
}

/**
 * Builds the report of a rollout without advice, which would need the other rollouts as well.
 *
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`)
 */
export async function buildReportWithoutAdvice(
  journal: JournalReader,
  id: string,
  isLocked: boolean,
): Promise<RolloutReport> {
  return (await readRecordedRollout(journal, id, isLocked)).report;
}

interface RecordedRollout {
  readonly record: RolloutRecord;
  readonly tenants: readonly TenantRecord[];
  /** The report, without advice. */
  readonly report: RolloutReport;
}

async function readRecordedRollout(journal: JournalReader, id: string, isLocked: boolean): Promise<RecordedRollout> {
  const record = await journal.getRollout(id);
  const [waves, tenants] = [await journal.listWaves(id), await journal.listTenants(id)];
  const { spec, state, digest, reason, createdAtMs, startedAtMs, finishedAtMs } = record;
  const counts = countTenantStates(tenants);
  const rolledBackBy = await findCompleteRollback(journal, record);
  const waitingSinceMs = state === "waiting" ? await readWaitStart(journal.database, id) : undefined;
  const report: RolloutReport = {
    format: REPORT_FORMAT,
    id,
    source: spec.source,
    state,
    isActive: isLocked,
    ...(reason === undefined ? {} : { reason }),
    ...(waitingSinceMs === undefined ? {} : { waitingSince: formatIsoTime(waitingSinceMs) }),
    advice: [],
    digest,
    createdAt: formatIsoTime(createdAtMs),
    ...(startedAtMs === undefined ? {} : { startedAt: formatIsoTime(startedAtMs) }),
    ...(finishedAtMs === undefined ? {} : { finishedAt: formatIsoTime(finishedAtMs) }),
    ...(spec.rollsBack === undefined ? {} : { rollsBack: spec.rollsBack }),
    ...(spec.rollsBackTo === undefined ? {} : { rollsBackTo: spec.rollsBackTo }),
    ...(rolledBackBy === undefined ? {} : { rolledBackBy }),
    ...(spec.mode === undefined ? {} : { mode: spec.mode }),
    counts,
    ...(spec.skipped === undefined ? {} : { skipped: spec.skipped.map(buildSkippedReport) }),
    waves: waves.map((wave, index): WaveReport => {
      const {
        name = "",
        maxConcurrent = 1,
        tolerated: toleratedFailures = 0,
        soakMs = 0,
        gate = false,
        health,
        unreviewed = [],
        closed = [],
      } = spec.waves[index] ?? {};
      const waveTenants = tenants.filter((tenant) => tenant.wave === index);
      return {
        name,
        state: ENDED_STATES.has(state) && wave.state !== "done" && wave.state !== "pending" ? "stopped" : wave.state,
        tenants: waveTenants.length,
        counts: countTenantStates(waveTenants),
        maxConcurrent,
        toleratedFailures,
        exitCriteria: { soakMs, hasHealthCheck: health !== undefined, hasGate: gate },
        ...(closed.length === 0 ? {} : { closedHours: [...new Set(closed.map(({ text }) => text))] }),
        ...(unreviewed.length === 0 ? {} : { unreviewed: unreviewed.map((tenant) => tenant.name) }),
        ...(wave.startedAtMs === undefined ? {} : { startedAt: formatIsoTime(wave.startedAtMs) }),
        ...(wave.finishedAtMs === undefined ? {} : { finishedAt: formatIsoTime(wave.finishedAtMs) }),
        ...(wave.soakUntilMs === undefined ? {} : { soakUntil: formatIsoTime(wave.soakUntilMs) }),
        ...(wave.health === undefined ? {} : { health: wave.health }),
      };
    }),
    tenants: tenants.map((tenant) => buildTenantReport(tenant, spec.waves[tenant.wave]?.name ?? "", state)),
  };
  return { record, tenants, report };
}

export function buildSkippedReport({ name, stack, sinceMs, by, reason }: SkippedTenant): SkippedReport {
  return { name, skippedAt: formatIsoTime(sinceMs), reason, ...omitUndefined({ stack, skippedBy: by }) };
}

function buildTenantReport(tenant: TenantRecord, wave: string, rolloutState: RolloutState): TenantReport {
  const { name, state, target, summary, attempt, worker, error, startedAtMs, finishedAtMs } = tenant;
  const isClosed = rolloutState === "abandoned" || rolloutState === "rolled-back";
  return {
    name,
    labels: target.labels,
    wave,
    state,
    host: URL.parse(target.baseUrl)?.host ?? target.baseUrl,
    address: target.baseUrl,
    keySource: describeKeySource(target.key),
    stack: target.stack,
    planned: summary?.planned ?? { added: 0, changed: 0, removed: 0 },
    changes: summary?.changes ?? [],
    severities: summary?.severities ?? { danger: 0, warning: 0 },
    ...(summary?.unreverted === undefined ? {} : { unreverted: summary.unreverted }),
    ...(summary?.drift === undefined ? {} : { drift: summary.drift }),
    ...(summary?.unmanagedAllows === undefined ? {} : { unmanagedAllows: summary.unmanagedAllows }),
    ...(summary?.overrides === undefined ? {} : { overrides: summary.overrides }),
    ...(error === undefined
      ? {}
      : { error: isClosed ? { ...error, advice: replaceResumeAdvice(error.advice, rolloutState) } : error }),
    attempts: attempt,
    ...(worker === undefined ? {} : { worker }),
    ...(startedAtMs === undefined ? {} : { startedAt: formatIsoTime(startedAtMs) }),
    ...(finishedAtMs === undefined ? {} : { finishedAt: formatIsoTime(finishedAtMs) }),
    ...(startedAtMs === undefined || finishedAtMs === undefined ? {} : { durationMs: finishedAtMs - startedAtMs }),
  };
}

/** The states in which a rollout has ended early, so that its unfinished waves count as stopped. */
const ENDED_STATES: ReadonlySet<RolloutState> = new Set<RolloutState>(["stopped", "abandoned", "rolled-back"]);

/** Lists the next steps for a rollout. The commands match the journal's current state. */
export async function getRolloutAdvice(
  journal: Journal,
  record: RolloutRecord,
  isLocked: boolean,
  commands: RolloutCommands,
): Promise<readonly Advice[]> {
  const { id, state, spec } = record;
  if (state === "planned" || (state === "running" && isLocked)) return [];
  if (state === "abandoned") return await adviseRollback(journal, record, commands);
  if (state === "rolled-back") return await adviseRolledBack(journal, record, commands);
  const adviseResume = (reason: string): Advice => ({ reason, command: commands.resume(id) });
  switch (state) {
    case "waiting":
      return [
        { reason: "To approve the result and continue:", command: commands.resume(id) },
        ...(await adviseRollback(journal, record, commands)),
      ];
    case "stopped":
      return [
        adviseResume("To continue and retry the failed tenants, after you fix the cause:"),
        ...(await adviseRollback(journal, record, commands)),
      ];
    case "running":
      return [adviseResume("To continue:"), ...(await adviseRollback(journal, record, commands))];
    case "done": {
      const tenants = await journal.listTenants(id);
      const unplanned = tenants.filter(({ error }) => error?.phase === "plan").length;
      const canRetry = (await findRetryableRollouts(journal.database, await journal.listRollouts())).has(id);
      // Repeats the rollback with the same revision.
      const [, revision] = /^the files of the revision (.+)$/s.exec(spec.rollsBackTo ?? "") ?? [];
      const isRegular = spec.rollsBack === undefined && spec.mode === undefined;
      const unmanaged = isRegular ? tenants.filter(({ summary }) => summary?.unmanagedAllows !== undefined) : [];
      return [
        ...(canRetry
          ? [adviseResume("To retry the failed tenants with the same files, after you fix the causes:")]
          : []),
        ...(unplanned > 0
          ? [
              {
                reason: `${unplanned === 1 ? "1 tenant" : `${unplanned} tenants`} failed to plan, and resuming does not include them. To plan them again, after you fix the causes:`,
                command:
                  spec.rollsBack === undefined
                    ? commands.plan(spec.source, [], spec.mode)
                    : commands.rollback(spec.rollsBack, revision),
              },
            ]
          : []),
        ...(unmanaged.length > 0
          ? [
              {
                reason: "Unmanaged allows remain. To see who created each, and when:",
                command: commands.fleetStatus(
                  spec.source,
                  unmanaged.length > MAX_COMMAND_NAMES ? [] : unmanaged.map(({ name }) => name),
                ),
              },
            ]
          : []),
      ];
    }
  }
}

const MAX_COMMAND_NAMES = 5;

/** Explains how to continue without the failed tenants, and how to unskip the tenants that are still skipped. */
async function adviseSkips(
  { database }: Journal,
  { state, spec }: RolloutRecord,
  tenants: readonly TenantRecord[],
  commands: RolloutCommands,
): Promise<readonly Advice[]> {
  const failed = state === "stopped" ? tenants.filter((tenant) => tenant.state === "failed") : [];
  const advice: Advice[] = [];
  if (failed.length > 0 && failed.length <= MAX_COMMAND_NAMES) {
    const failedText = failed.length === 1 ? "the failed tenant" : "the failed tenants";
    advice.push({
      reason: `To continue without ${failedText}, skip ${failed.length === 1 ? "it" : "them"}, then resume:`,
      command: commands.skip(
        failed.map(({ name }) => name),
        spec.source,
      ),
    });
  }
  if (spec.skipped === undefined) return advice;
  const findSkip = createSkipLookup(spec.skipped);
  const activeSkips = [...(await readActiveSkips(database, spec)).values()].flatMap((skip) => findSkip(skip) ?? []);
  if (activeSkips.length === 0) return advice;
  const names = activeSkips.slice(0, MAX_COMMAND_NAMES).map(({ name }) => name);
  return [
    ...advice,
    {
      reason: `To unskip the skipped tenants${activeSkips.length > MAX_COMMAND_NAMES ? ", the first of them" : ""}:`,
      command: commands.unskip(names, spec.source),
    },
  ];
}

/** A stopped rollout blocks the new one that some failures need. */
function adviseAbandon(
  { id, state }: RolloutRecord,
  tenants: readonly TenantRecord[],
  commands: RolloutCommands,
): readonly Advice[] {
  if (state !== "stopped" || !tenants.some(({ error }) => error !== undefined && needsNewRollout(error))) return [];
  return [{ reason: "Before you start a new rollout, abandon this one:", command: commands.abandon(id) }];
}

/** An open rollback shows how far it has come. Once it has ended, the remaining tenants can be rolled back again. */
async function adviseRolledBack(
  journal: Journal,
  record: RolloutRecord,
  commands: RolloutCommands,
): Promise<readonly Advice[]> {
  const rollback = (await journal.listRollouts()).find(({ spec }) => spec.rollsBack === record.id);
  if (rollback === undefined) return await adviseRollback(journal, record, commands);
  if (!isOpenRollout(rollback)) return await getRemainingRollbackAdvice(journal, record, commands);
  if ((await readRollbackProgress(journal, record.id)).remainingTenants.length === 0) return [];
  const reason = "The rollback is not finished. To see its progress:";
  return [{ reason, command: commands.status(rollback.id) }];
}

/** Only a rollout that has begun a tenant can be rolled back. A rollback can't. */
async function adviseRollback(
  journal: Journal,
  record: RolloutRecord,
  commands: RolloutCommands,
): Promise<readonly Advice[]> {
  const { id, spec } = record;
  if (spec.rollsBack !== undefined || spec.prunedAtMs !== undefined) return [];
  if ((await readRolloutTallies(journal.database)).get(id)?.isStarted !== true) return [];
  return [{ reason: "To roll back to the previous state of each tenant:", command: commands.rollback(id) }];
}

export function countTenantStates(tenants: readonly TenantRecord[]): Record<TenantState, number> {
  const counts: Record<TenantState, number> = { ...ZERO_COUNTS };
  for (const { state } of tenants) counts[state] += 1;
  return counts;
}

export function formatIsoTime(ms: number): string {
  return new Date(ms).toISOString();
}
