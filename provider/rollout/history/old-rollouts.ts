import type { Database } from "../database/database";
import type { Journal } from "../journal/journal";
import { parseLaterChange } from "../journal/journal-reader";
import { compareRollouts, isPossiblyLater } from "../journal/rollout-order";
import type { LaterChange, RolloutRecord, RolloutSpec } from "../journal/rollout-record";
import { findRetryableRollouts } from "../journal/rollout-tally";
import { isOpenRollout } from "../journal/select-rollout";
import { getStackRollbackStatus } from "../journal/stack-rollback-status";

export interface OldRollouts {
  /** The rollouts that may be pruned, newest first. */
  readonly prunable: readonly RolloutRecord[];
  /** The rollouts that may still be needed in full, and why: `it is not finished`. */
  readonly retainedRollouts: readonly { readonly record: RolloutRecord; readonly reason: string }[];
  /** The ids of rollouts whose planning was interrupted. They can't be started. */
  readonly unstartedIds: readonly string[];
}

/**
 * Finds rollouts that ended before a time and are not pruned. A rollout is still needed in four cases: it is unfinished; resuming it would
 * retry a tenant; it is being rolled back; or it can be rolled back, because it was the last one to change a tenant.
 */
export async function findOldRollouts(journal: Journal, beforeMs: number): Promise<OldRollouts> {
  const { database } = journal;
  const records = await journal.listRollouts();
  const retriableIds = await findRetryableRollouts(database, records);
  const stacks = await readChangesByStack(database, records);
  const rollbackIds = new Map(
    records
      .filter(isOpenRollout)
      .flatMap(({ id, spec }) => (spec.rollsBack === undefined ? [] : [[spec.rollsBack, id]])),
  );
  const getRetentionReason = (record: RolloutRecord): string | undefined => {
    const { id } = record;
    const rollbackId = rollbackIds.get(id);
    if (isOpenRollout(record)) return "it is not finished";
    if (rollbackId !== undefined) return `${rollbackId} is rolling it back`;
    if (retriableIds.has(id)) return "a tenant that failed in it can be retried";
    return canBeRolledBack(record, stacks)
      ? "it can be rolled back in a tenant that no later rollout changed"
      : undefined;
  };
  const oldRecords = records.filter(
    (record) =>
      record.spec.prunedAtMs === undefined &&
      (record.finishedAtMs ?? record.startedAtMs ?? record.createdAtMs) < beforeMs,
  );
  const candidates = oldRecords.map((record) => ({ record, reason: getRetentionReason(record) }));
  const rows = await database.query(
    "SELECT id FROM rollouts WHERE started_at IS NULL AND created_at < $1 ORDER BY id",
    [beforeMs],
  );
  return {
    prunable: candidates.flatMap(({ record, reason }) => (reason === undefined ? [record] : [])),
    retainedRollouts: candidates.flatMap(({ record, reason }) => (reason === undefined ? [] : [{ record, reason }])),
    unstartedIds: rows.map((row) => String(row["id"])),
  };
}

interface StackChange extends LaterChange {
  readonly isBegun: boolean;
  readonly record: RolloutRecord;
}

/** Reads the changes of each stack, in the order in which the rollouts began. */
async function readChangesByStack(
  database: Database,
  records: readonly RolloutRecord[],
): Promise<ReadonlyMap<string, readonly StackChange[]>> {
  const rows = await database.query("SELECT rollout, stack, state, attempt FROM rollout_tenants");
  const rowsByRollout = Map.groupBy(rows, (row) => String(row["rollout"]));
  const changes = new Map<string, StackChange[]>();
  for (const record of records.toSorted(compareRollouts)) {
    const { id, spec } = record;
    if (spec.mode !== undefined) continue;
    for (const row of rowsByRollout.get(id) ?? []) {
      const change = parseLaterChange(row, id, spec.rollsBack);
      if (change === undefined) continue;
      const stack = buildStackKey(spec, change.stack);
      const stackChanges = changes.get(stack) ?? [];
      changes.set(stack, stackChanges);
      stackChanges.push({ ...change, isBegun: Number(row["attempt"]) > 0, record });
    }
  }
  return changes;
}

/** Two stacks with one name are different if their projects or backends differ. */
function buildStackKey({ project, backend }: RolloutSpec, stack: string): string {
  return JSON.stringify([project, backend, stack]);
}

/** Whether the rollout can still be rolled back in some stack. */
function canBeRolledBack(record: RolloutRecord, stacks: ReadonlyMap<string, readonly StackChange[]>): boolean {
  const { id, spec } = record;
  if (spec.rollsBack !== undefined) return false;
  for (const stackChanges of stacks.values()) {
    if (!stackChanges.some(({ rollout, isBegun }) => rollout === id && isBegun)) continue;
    const later = stackChanges.filter((change) => change.rollout !== id && isPossiblyLater(change.record, record));
    const { rolledBackBy, laterRollouts } = getStackRollbackStatus(id, later);
    if (rolledBackBy === undefined && laterRollouts.length === 0) return true;
  }
  return false;
}
