import type { Queryable, SqlValue } from "../database/database";
import { DatabaseError } from "../database/database-error";
import { postgresPlace } from "../database/postgres-connection";
import type { Lane } from "./lane";
import { closeQueue, jobId, type Log, openQueue, QUEUE } from "./pg-boss";

/**
 * Opens the lane of a coordinator whose tenants are changed by workers on any machines: pg-boss, in the journal's database.
 * Of a job that was handed out before, nothing is changed while somebody has it or may get it; one that came to its end without its
 * tenant is queued anew.
 *
 * @param url of the journal's database.
 * @param log told of what goes wrong in the background, a line each.
 * @throws {DatabaseError} `ERR_ROLLOUT_DATABASE` when it can't be reached or used.
 */
export async function openPgBossLane(url: string, { log }: { readonly log: Log }): Promise<Lane> {
  const place = await postgresPlace(url);
  // It sees too that the jobs of workers that died go to others, when no other worker is there to do so.
  const boss = await openQueue(place, "coordinator", 2, log);
  return {
    handOut: async (database, jobs) => {
      if (jobs.length === 0) return;
      if (database.dialect !== "postgres") throw new DatabaseError("Workers need a journal in PostgreSQL.");
      const ids = jobs.map(jobId);
      await database.query(
        `delete from ${place.queueSchema}.job where name = $1 and state >= 'completed' and id = any(cast($2 as uuid[]))`,
        [QUEUE, `{${ids.join(",")}}`],
      );
      const rows = jobs.map((job, index) => ({ id: ids[index] as string, data: job }));
      await boss.insert(QUEUE, rows, { db: executor(database), returnId: false });
    },
    // Workers hear of it when the transaction is through.
    start: () => {},
    // Nothing is under way here; what workers have, they finish.
    drain: () => closeQueue(boss),
  };
}

/** Lets pg-boss speak within a transaction of ours. */
function executor(database: Queryable): {
  executeSql(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
} {
  return {
    executeSql: async (sql, values = []) => ({
      rows: [...(await database.query(sql, values as SqlValue[]))],
    }),
  };
}
