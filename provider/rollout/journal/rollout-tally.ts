import type { Database } from "../database/database";
import type { TenantState } from "../model/wave";
import { buildSequenceSql } from "./rollout-order";
import type { RolloutRecord } from "./rollout-record";
import { ZERO_COUNTS } from "./run-state";

export interface RolloutTally {
  readonly counts: Readonly<Record<TenantState, number>>;
  /** Whether any tenant was started. Otherwise there is nothing to roll back. */
  readonly isStarted: boolean;
}

export async function readRolloutTallies(database: Database): Promise<ReadonlyMap<string, RolloutTally>> {
  const rows = await database.query(
    "SELECT rollout, state, COUNT(*) AS count, MAX(attempt) AS attempts FROM rollout_tenants GROUP BY rollout, state",
  );
  const countsByRollout = new Map<string, RolloutTally>();
  for (const [id, rolloutRows] of Map.groupBy(rows, (row) => String(row["rollout"]))) {
    const counts: Record<TenantState, number> = { ...ZERO_COUNTS };
    for (const row of rolloutRows) counts[String(row["state"]) as TenantState] = Number(row["count"]);
    countsByRollout.set(id, { counts, isStarted: rolloutRows.some((row) => Number(row["attempts"]) > 0) });
  }
  return countsByRollout;
}

/**
 * Returns the finished rollouts whose failed tenants a resume would retry. It excludes a tenant that a later rollout
 * has already brought to its declared state: a retry would revert it to older files.
 */
export async function findRetryableRollouts(
  database: Database,
  records: readonly RolloutRecord[],
): Promise<ReadonlySet<string>> {
  const rows = await database.query(
    `SELECT own.rollout AS id, own.name AS name, later.rollout AS later FROM rollout_tenants own
     JOIN rollouts r ON r.id = own.rollout AND r.state = 'done'
     LEFT JOIN (SELECT t.stack AS stack, t.rollout AS rollout, ${buildSequenceSql("l")} AS seq,
         l.created_at AS created_at
       FROM rollout_tenants t JOIN rollouts l ON l.id = t.rollout AND l.started_at IS NOT NULL
       WHERE t.state IN ('done', 'unchanged')) later
     ON later.stack = own.stack AND later.rollout <> own.rollout AND (later.seq > ${buildSequenceSql("r")}
       OR (later.seq = ${buildSequenceSql("r")} AND (later.seq > 0 OR later.created_at > r.created_at)))
     WHERE own.state = 'failed' AND own.plan IS NOT NULL`,
  );
  const specs = new Map(records.map(({ id, spec }) => [id, spec]));
  const retryable = new Set<string>();
  for (const [, tenantRows] of Map.groupBy(rows, (row) => `${String(row["id"])} ${String(row["name"])}`)) {
    const id = String(tenantRows[0]?.["id"]);
    const isSuperseded = tenantRows.some(({ later }) => {
      const [record, laterSpec] = [specs.get(id), specs.get(String(later))];
      // Stacks of the same name in two projects or backends are different stacks.
      if (laterSpec === undefined || record?.project !== laterSpec.project || record.backend !== laterSpec.backend)
        return false;
      // A rollout that only prunes expired entries or reverts drift doesn't apply what another rollout failed to apply.
      return laterSpec.mode === undefined || laterSpec.mode === record.mode;
    });
    // The data for a retry is gone.
    const isPruned = specs.get(id)?.prunedAtMs !== undefined;
    if (!isSuperseded && !isPruned) retryable.add(id);
  }
  return retryable;
}

/** When a rollout last began to wait for a person, in milliseconds since 1970. Undefined if it never did. */
export async function readWaitStart(database: Database, id: string): Promise<number | undefined> {
  const [row] = await database.query(
    `SELECT MAX(at) AS at FROM rollout_events WHERE rollout = $1 AND happening LIKE '{"kind":"waiting"%'`,
    [id],
  );
  return row?.["at"] == null ? undefined : Number(row["at"]);
}
