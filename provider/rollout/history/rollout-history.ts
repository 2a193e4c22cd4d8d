import { omitUndefined } from "../../settings/omit-undefined";
import type { Journal } from "../journal/journal";
import { findCompleteRollback } from "../journal/rollback-progress";
import type { RolloutRecord, TenantRecord } from "../journal/rollout-record";
import { HISTORY_FORMAT, type PastRollout, type RolloutHistory } from "../model/history-schema";
import { countTenantStates, formatIsoTime } from "../report/build-rollout-report";
import { ChangeTally } from "../report/change-tally";

/** The rollouts that {@link readRolloutHistory} selects. */
export interface HistoryRequest {
  /** Selects the rollouts that changed this tenant, or tried to change it. */
  readonly tenant?: string;
  /** Selects the rollouts that began at this time or later, and before `beforeMs`. Both in milliseconds since 1970. */
  readonly sinceMs?: number;
  readonly beforeMs?: number;
  /** The maximum number of rollouts. */
  readonly limit: number;
}

const SHOWN_CHANGES = 10;

/** @param isLocked returns whether a run holds a rollout now. */
export async function readRolloutHistory(
  journal: Journal,
  { tenant, sinceMs = Number.NEGATIVE_INFINITY, beforeMs = Number.POSITIVE_INFINITY, limit }: HistoryRequest,
  isLocked: (id: string) => Promise<boolean>,
): Promise<RolloutHistory> {
  const rolloutIds = tenant === undefined ? undefined : await readTenantRolloutIds(journal, tenant);
  const matchingRecords = (await journal.listRollouts()).filter(
    ({ id, startedAtMs = 0 }) => startedAtMs >= sinceMs && startedAtMs < beforeMs && rolloutIds?.has(id) !== false,
  );
  const rollouts: PastRollout[] = [];
  for (const record of matchingRecords.slice(0, limit)) {
    const isRolloutLocked = record.state === "running" && (await isLocked(record.id));
    const past = buildPastRollout(record, await journal.listTenants(record.id), tenant, isRolloutLocked);
    rollouts.push({
      ...past,
      ...omitUndefined({ rolledBackBy: await findCompleteRollback(journal, record) }),
    });
  }
  return { format: HISTORY_FORMAT, rollouts, older: matchingRecords.length - rollouts.length };
}

/** Reads the ids of the rollouts that have begun a tenant. */
async function readTenantRolloutIds(journal: Journal, tenant: string): Promise<ReadonlySet<string>> {
  const rows = await journal.database.query("SELECT rollout FROM rollout_tenants WHERE name = $1 AND attempt > 0", [
    tenant,
  ]);
  return new Set(rows.map((row) => String(row["rollout"])));
}

function buildPastRollout(
  { id, state, reason, spec, digest, startedAtMs = 0, finishedAtMs }: RolloutRecord,
  tenants: readonly TenantRecord[],
  tenant: string | undefined,
  isLocked: boolean,
): PastRollout {
  const { source, origin, rollsBack, rollsBackTo, task, prunedAtMs } = spec;
  const startedTenants = tenants.filter(
    ({ name, attempt }) => attempt > 0 && (tenant === undefined || name === tenant),
  );
  const changeCounter = new ChangeTally();
  const planned = { added: 0, changed: 0, removed: 0 };
  for (const { name, summary } of startedTenants) {
    if (summary === undefined) continue;
    changeCounter.add(name, summary.changes);
    for (const field of ["added", "changed", "removed"] as const) planned[field] += summary.planned[field];
  }
  return {
    ...{
      id,
      state,
      isHeld: isLocked,
      source,
      digest,
      startedAt: formatIsoTime(startedAtMs),
      counts: countTenantStates(tenants),
      planned,
    },
    changes: changeCounter.changes.slice(0, SHOWN_CHANGES).map(({ sign, kind, list, value, tenants: count }) => ({
      ...{ sign, kind, value, tenants: count },
      ...omitUndefined({ list }),
    })),
    ...omitUndefined({
      reason,
      rollsBack,
      rollsBackTo,
      task,
      finishedAt: finishedAtMs === undefined ? undefined : formatIsoTime(finishedAtMs),
      prunedAt: prunedAtMs === undefined ? undefined : formatIsoTime(prunedAtMs),
      by: origin && (origin.user === undefined ? origin.host : `${origin.user}@${origin.host}`),
      revision: origin?.revision,
      isChanged: origin?.isChanged,
      tenantState: tenant === undefined ? undefined : startedTenants[0]?.state,
    }),
  };
}
