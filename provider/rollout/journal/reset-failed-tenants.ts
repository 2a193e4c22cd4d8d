import type { Queryable } from "../database/database";
import { decodeJson } from "../database/stored-values";
import type { WaveRunState } from "../model/next-step";

/** Resets failed tenants and the health of unhealthy waves, so that the coordinator retries them. */
export async function resetFailedTenants(transaction: Queryable, id: string): Promise<void> {
  const retriedRows = await transaction.query(
    `UPDATE rollout_tenants SET state = 'pending', error = NULL, round = round + 1, finished_at = NULL
     WHERE rollout = $1 AND state = 'failed' AND plan IS NOT NULL RETURNING wave`,
    [id],
  );
  // After the retried tenants, the wave soaks, and its health check and gate run again.
  for (const wave of new Set(retriedRows.map((row) => Number(row["wave"])))) {
    await transaction.query(
      `UPDATE rollout_waves SET state = 'running', health = NULL, soak_until = NULL, approved_at = NULL, finished_at = NULL
       WHERE rollout = $1 AND position = $2 AND state <> 'pending'`,
      [id, wave],
    );
  }
  // A wave without retried tenants keeps its health result and approval, unless it was unhealthy.
  const waves = await transaction.query("SELECT position, health FROM rollout_waves WHERE rollout = $1", [id]);
  for (const { position, health } of waves) {
    if (health == null || decodeJson<NonNullable<WaveRunState["health"]>>(health).isHealthy !== false) continue;
    await transaction.query("UPDATE rollout_waves SET health = NULL WHERE rollout = $1 AND position = $2", [
      id,
      Number(position),
    ]);
  }
}
