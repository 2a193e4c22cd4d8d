import { setTimeout as sleep } from "node:timers/promises";
import type { Job as QueuedJob } from "pg-boss";
import { quote } from "../../model/text";
import { resolvePostgresConnection } from "../database/postgres-connection";
import type { Job, JobHandler } from "./job-queue";
import { Leases } from "./leases";
import { closePgBoss, type Log, openPgBoss, QUEUE_NAME } from "./pg-boss";

/** How long to delay a retry of a job that could be neither done nor recorded, in milliseconds. */
const RETRY_DELAY_MS = 5_000;

const WORK_OPTIONS = {
  batchSize: 1,
  pollingIntervalSeconds: 2,
  // pg-boss sends no notification for a retry.
  notifyPollingIntervalSeconds: 2,
  // Leases are renewed together. pg-boss itself would run a statement for each.
  heartbeatRefreshSeconds: 86_400,
};

export interface PgBossWorkerOptions {
  readonly concurrency: number;
  /** Asks to start nothing more. Running jobs finish. */
  readonly stopping: AbortSignal;
  /** Asks to end at once. Running jobs are aborted and go to other workers. */
  readonly aborted: AbortSignal;
  readonly log: Log;
}

/**
 * Takes tenants from a database's queue and runs their jobs, until it is asked to stop. Waits for a database that becomes
 * unavailable.
 *
 * A job's signal aborts when its lease is lost, so that another worker may have the tenant by now, or when everything must end at once.
 * It never aborts because the job has ended. After an abort, the queue gives the job to a free worker.
 *
 * @throws {DatabaseError} `ERR_ROLLOUT_DATABASE` if the database can't be reached or used at the start.
 */
export async function runPgBossWorker(
  url: string,
  handler: JobHandler,
  { concurrency, stopping, aborted, log }: PgBossWorkerOptions,
): Promise<void> {
  const boss = await openPgBoss(await resolvePostgresConnection(url), "worker", Math.min(concurrency, 4) + 1, log);
  const leases = new Leases((attempts) => boss.touch(QUEUE_NAME, attempts));
  const handleQueued = async (queued: QueuedJob<Job>): Promise<void> => {
    await using lease = leases.acquire({ id: queued.id, retryCount: queued.retryCount });
    const signal = AbortSignal.any([lease.signal, aborted]);
    try {
      await handler(queued.data, signal);
    } catch (error) {
      log(`${quote(queued.data.tenant)} could not be processed: ${(error as Error).message}`);
      await sleep(RETRY_DELAY_MS, undefined, { signal }).catch(() => {});
      throw error;
    }
    // An aborted job must not count as completed, because its next worker has to check it.
    signal.throwIfAborted();
  };
  const startSlot = async (): Promise<void> => {
    const workerId = await boss.work<Job>(QUEUE_NAME, WORK_OPTIONS, async ([queued]) => {
      try {
        if (queued !== undefined) await handleQueued(queued);
      } finally {
        // Fetches the next job at once. Otherwise pg-boss waits for a notification or the next poll.
        boss.notifyWorker(workerId);
      }
    });
  };
  try {
    for (let slot = 0; slot < concurrency; slot++) await startSlot();
    await waitForAbort(stopping, aborted);
    await Promise.race([
      boss.offWork(QUEUE_NAME, { wait: true }),
      waitForAbort(aborted).then(() => sleep(RETRY_DELAY_MS)),
    ]);
  } finally {
    leases.close();
    await closePgBoss(boss);
  }
}

async function waitForAbort(...signals: AbortSignal[]): Promise<void> {
  const combined = AbortSignal.any(signals);
  if (combined.aborted) return;
  await new Promise<void>((resolve) => combined.addEventListener("abort", () => resolve(), { once: true }));
}
