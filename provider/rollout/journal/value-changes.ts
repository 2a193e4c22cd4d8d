import type { WhyRolloutChange } from "../../gitops/why-schema";
import { omitUndefined } from "../../model/omit-undefined";
import type { Plan } from "../../plan/plan";
import type { Database } from "../database/database";
import { decodeJson, decodeTime, decompress } from "../database/stored-values";
import { resolveSequenceSql } from "./rollout-order";
import type { RolloutSpec } from "./rollout-record";

/**
 * Returns the rollouts that changed a value at a tenant or tried to, newest first. Their plan contains a change of the
 * value, and they started the tenant.
 *
 * @param stack the tenant's stack. The tenant's name may have changed, or have belonged to another tenant.
 * @param value in canonical form.
 */
export async function findValueChanges(
  database: Database,
  stack: string,
  value: string,
): Promise<readonly WhyRolloutChange[]> {
  const sequence = await resolveSequenceSql(database, "r");
  const rows = await database.query(
    `SELECT t.rollout AS rollout, t.wave AS wave, t.state AS state, t.digest AS plan_digest, t.finished_at AS finished_at,
       t.plan AS plan, r.digest AS digest, r.spec AS spec
     FROM rollout_tenants t JOIN rollouts r ON r.id = t.rollout
     WHERE t.stack = $1 AND t.attempt > 0 AND t.plan IS NOT NULL ORDER BY ${sequence} DESC, r.started_at DESC, r.id DESC`,
    [stack],
  );
  return rows.flatMap((row) => {
    const { changes = [] } = JSON.parse(decompress(row["plan"]).toString("utf8")) as Partial<Plan>;
    const { waves, rollsBack } = decodeJson<RolloutSpec>(row["spec"]);
    const finishedAtMs = decodeTime(row["finished_at"]);
    return changes
      .filter((change) => change.value === value)
      .map(({ operation, kind, before, after, verdictScope }) =>
        omitUndefined({
          rollout: String(row["rollout"]),
          wave: waves[Number(row["wave"])]?.name ?? "",
          operation,
          kind,
          lists: [...new Set([before?.list, after?.list])].filter((list) => list !== undefined),
          verdictScope,
          state: String(row["state"]),
          digest: String(row["digest"]),
          planDigest: String(row["plan_digest"]),
          rollsBack,
          finishedAt: finishedAtMs === undefined ? undefined : new Date(finishedAtMs).toISOString(),
        }),
      );
  });
}
