import type { Queryable, SqlValue } from "../database/database";
import { DatabaseError } from "../database/database-error";
import { resolvePostgresConnection } from "../database/postgres-connection";
import type { JobQueue } from "./job-queue";
import { closePgBoss, getJobId, type Log, openPgBoss, QUEUE_NAME } from "./pg-boss";

/**
 * Opens a coordinator's queue for workers on any machine: pg-boss, in the journal's database. A job that was already
 * enqueued stays unchanged while a worker has it or may get it. A job that ended without finishing its tenant is queued
 * again.
 *
 * @param log receives a line about each problem in the background.
 * @throws {DatabaseError} `ERR_ROLLOUT_DATABASE` if the database can't be reached or used.
 */
export async function openPgBossQueue(url: string, { log }: { readonly log: Log }): Promise<JobQueue> {
  const connection = await resolvePostgresConnection(url);
  // The coordinator also supervises the queue, so that jobs of dead workers are released even if no other worker runs.
  const boss = await openPgBoss(connection, "coordinator", 2, log);
  return {
    enqueue: async (database, jobs) => {
      if (jobs.length === 0) return;
      if (database.dialect !== "postgres") throw new DatabaseError("Workers need a journal in PostgreSQL.");
      const ids = jobs.map(getJobId);
      await database.query(
        `delete from ${connection.queueSchema}.job where name = $1 and state >= 'completed' and id = any(cast($2 as uuid[]))`,
        [QUEUE_NAME, `{${ids.join(",")}}`],
      );
      const rows = jobs.map((job, index) => ({ id: ids[index] as string, data: job }));
      await boss.insert(QUEUE_NAME, rows, { db: createTransactionExecutor(database), returnId: false });
    },
    // pg-boss notifies the workers after the transaction.
    start: () => {},
    // No job runs here, and workers finish theirs.
    drain: () => closePgBoss(boss),
  };
}

function createTransactionExecutor(database: Queryable): {
  executeSql(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
} {
  return {
    executeSql: async (sql, values = []) => ({
      rows: [...(await database.query(sql, values as SqlValue[]))],
    }),
  };
}
