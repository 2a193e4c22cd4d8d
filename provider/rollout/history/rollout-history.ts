import { omitUndefined } from "../../model/omit-undefined";
import type { Journal } from "../journal/journal";
import { findCompleteRollback } from "../journal/rollback-progress";
import type { RolloutRecord, TenantRecord } from "../journal/rollout-record";
import { HISTORY_FORMAT, type PastRollout, type RolloutHistory } from "../model/history-schema";
import { countTenantStates, formatIsoTime } from "../report/build-rollout-report";
import { ChangeTally } from "../report/shared-changes";
import { findStackByName, readCurrentTenantNames } from "../targets/current-tenant-names";

export interface HistoryRequest {
  /** Selects the rollouts that changed the tenant with this name, or tried to change it, whatever its name was then. */
  readonly tenant?: string;
  /** Selects the rollouts that began at this time or later, and before `beforeMs`. Both in milliseconds since 1970. */
  readonly sinceMs?: number;
  readonly beforeMs?: number;
  readonly limit: number;
}

const SHOWN_CHANGES = 10;

/** @param isLocked returns whether a run holds a rollout now. */
export async function readRolloutHistory(
  journal: Journal,
  { tenant, sinceMs = Number.NEGATIVE_INFINITY, beforeMs = Number.POSITIVE_INFINITY, limit }: HistoryRequest,
  isLocked: (id: string) => Promise<boolean>,
): Promise<RolloutHistory> {
  const records = await journal.listRollouts();
  const selected = tenant === undefined ? undefined : await selectTenant(journal, tenant, records);
  const matchingRecords = records.filter(
    ({ id, startedAtMs = 0 }) =>
      startedAtMs >= sinceMs && startedAtMs < beforeMs && selected?.rollouts.has(id) !== false,
  );
  const rollouts: PastRollout[] = [];
  for (const record of matchingRecords.slice(0, limit)) {
    const isRolloutLocked = record.state === "running" && (await isLocked(record.id));
    const past = buildPastRollout(record, await journal.listTenants(record.id), selected?.stack, isRolloutLocked);
    rollouts.push({
      ...past,
      ...omitUndefined({ rolledBackBy: await findCompleteRollback(journal, record) }),
    });
  }
  return { format: HISTORY_FORMAT, rollouts, omittedCount: matchingRecords.length - rollouts.length };
}

interface SelectedTenant {
  readonly stack: string | undefined;
  readonly rollouts: ReadonlySet<string>;
}

/**
 * Finds a tenant by its present name, or else by the last name that a rollout used. A tenant keeps its stack if its name
 * changes, and another tenant may have had the name.
 *
 * @param records newest first.
 */
async function selectTenant(
  journal: Journal,
  name: string,
  records: readonly RolloutRecord[],
): Promise<SelectedTenant> {
  const present = records[0] && readCurrentTenantNames(records[0].spec.source);
  const rows = await journal.database.query("SELECT rollout, stack FROM rollout_tenants WHERE name = $1", [name]);
  const recordedStacks = new Map(rows.map((row) => [String(row["rollout"]), String(row["stack"])]));
  const lastRecord = records.find(({ id }) => recordedStacks.has(id));
  const presentStack = present && findStackByName(present, name);
  const stack = presentStack ?? recordedStacks.get(lastRecord?.id ?? "");
  const project = presentStack === undefined ? lastRecord?.spec.project : present?.project;
  const projectRollouts = new Set(records.flatMap(({ id, spec }) => (spec.project === project ? [id] : [])));
  const startedRows =
    stack === undefined
      ? []
      : await journal.database.query("SELECT rollout FROM rollout_tenants WHERE stack = $1 AND attempt > 0", [stack]);
  const rollouts = startedRows.map((row) => String(row["rollout"])).filter((id) => projectRollouts.has(id));
  return { stack, rollouts: new Set(rollouts) };
}

function buildPastRollout(
  { id, state, reason, spec, digest, startedAtMs = 0, finishedAtMs }: RolloutRecord,
  tenants: readonly TenantRecord[],
  stack: string | undefined,
  isLocked: boolean,
): PastRollout {
  const { source, origin, rollsBack, rollsBackTo, mode, prunedAtMs } = spec;
  const startedTenants = tenants.filter(
    ({ target, attempt }) => attempt > 0 && (stack === undefined || target.stack === stack),
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
      isActive: isLocked,
      source,
      digest,
      startedAt: formatIsoTime(startedAtMs),
      counts: countTenantStates(tenants),
      planned,
    },
    changes: changeCounter.changes.slice(0, SHOWN_CHANGES).map(({ operation, kind, list, value, tenants: count }) => ({
      ...{ operation, kind, value, tenants: count },
      ...omitUndefined({ list }),
    })),
    ...omitUndefined({
      reason,
      rollsBack,
      rollsBackTo,
      mode,
      finishedAt: finishedAtMs === undefined ? undefined : formatIsoTime(finishedAtMs),
      prunedAt: prunedAtMs === undefined ? undefined : formatIsoTime(prunedAtMs),
      plannedBy: origin && (origin.user === undefined ? origin.host : `${origin.user}@${origin.host}`),
      revision: origin?.revision,
      hasUncommittedChanges: origin?.hasUncommittedChanges,
      tenantState: stack === undefined ? undefined : startedTenants[0]?.state,
    }),
  };
}
