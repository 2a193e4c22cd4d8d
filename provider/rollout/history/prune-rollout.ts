import { gzipSync } from "node:zlib";
import { pickEntryState } from "../../model/entry-fields";
import { omitUndefined } from "../../model/omit-undefined";
import type { Plan, PlanChange } from "../../plan/plan";
import { pickMetadata } from "../../settings-files/element-fields";
import type { Database } from "../database/database";
import { decodeJson, decompress } from "../database/stored-values";
import type { RolloutSpec } from "../journal/rollout-record";
import type { RecordedChange } from "../model/history-schema";
import { isOpenState } from "../model/wave";

/**
 * Deletes the large parts of a rollout from the journal: its settings files, its plans except for the changes, and the steps of its
 * tenants. Everything that an audit asks for stays: the rollout with its digests; who began and resumed it, and when; its waves; the
 * outcome of each tenant; and each change with its list, comment, ticket and owner. One transaction prunes all of it or nothing.
 *
 * @param nowMs in milliseconds since 1970.
 * @returns false if the rollout is unfinished, or was pruned before. Nothing is deleted then.
 */
export async function pruneRollout(database: Database, id: string, nowMs: number): Promise<boolean> {
  return await database.transaction(async (transaction) => {
    const [row] = await transaction.query("SELECT state, spec FROM rollouts WHERE id = $1", [id]);
    if (row === undefined || isOpenState(String(row["state"]))) return false;
    const spec = decodeJson<RolloutSpec>(row["spec"]);
    if (spec.prunedAtMs !== undefined) return false;
    const tenants = await transaction.query(
      "SELECT name FROM rollout_tenants WHERE rollout = $1 AND plan IS NOT NULL",
      [id],
    );
    for (const { name = null } of tenants) {
      const [tenant] = await transaction.query("SELECT plan FROM rollout_tenants WHERE rollout = $1 AND name = $2", [
        id,
        name,
      ]);
      const plan = decodeJson<Partial<Plan>>(decompress(tenant?.["plan"]).toString("utf8"));
      await transaction.query("UPDATE rollout_tenants SET plan = $3 WHERE rollout = $1 AND name = $2", [
        id,
        name,
        gzipSync(JSON.stringify(buildPrunedPlan(plan))),
      ]);
    }
    await transaction.query("DELETE FROM rollout_files WHERE rollout = $1", [id]);
    await transaction.query(
      `DELETE FROM rollout_events WHERE rollout = $1 AND happening LIKE '{"kind":"tenant-%' AND happening NOT LIKE '{"kind":"tenant-skipped"%'`,
      [id],
    );
    await transaction.query("UPDATE rollouts SET spec = $2 WHERE id = $1", [
      id,
      JSON.stringify({ ...spec, prunedAtMs: nowMs } satisfies RolloutSpec),
    ]);
    return true;
  });
}

/** The part of a plan that stays. It can't be enforced, but it still distinguishes one change from another. */
interface PrunedPlan {
  readonly isPruned: true;
  readonly changes: readonly RecordedChange[];
}

function buildPrunedPlan({ changes = [] }: Partial<Plan>): PrunedPlan {
  return { isPruned: true, changes: changes.map(buildRecordedChange) };
}

/**
 * Builds the part of a change that the journal keeps as long as its rollout. The author of the previous value is not
 * part of the change.
 */
export function buildRecordedChange(change: PlanChange | RecordedChange): RecordedChange {
  const { operation, kind, key, value, before, after } = change;
  const { reason, acceptedRiskReason } = change;
  return {
    ...{ operation, kind, key, value },
    ...omitUndefined({ before: before && pickEntryState(before), after: after && pickEntryState(after) }),
    ...omitUndefined({ reason, ...pickMetadata(change), acceptedRiskReason }),
  };
}
