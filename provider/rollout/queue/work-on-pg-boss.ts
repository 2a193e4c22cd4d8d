import { setTimeout as sleep } from "node:timers/promises";
import type { Job as QueuedJob } from "pg-boss";
import { quote } from "../../settings/text";
import { postgresPlace } from "../database/postgres-connection";
import type { DoJob, Job } from "./lane";
import { Leases } from "./leases";
import { closeQueue, type Log, openQueue, QUEUE } from "./pg-boss";

/** How long to leave a job that could neither be done nor written down, before anybody tries it again, in milliseconds. */
const REST_MS = 5_000;

const WORK_OPTIONS = {
  batchSize: 1,
  pollingIntervalSeconds: 2,
  // A retry comes without a notification.
  notifyPollingIntervalSeconds: 2,
  // All leases are renewed together; pg-boss's own way would be a statement for each.
  heartbeatRefreshSeconds: 86_400,
};

export interface PgBossWorkerOptions {
  /** How many tenants to change at once. */
  readonly concurrency: number;
  /** Asks to begin nothing more; what is under way is finished. */
  readonly stopping: AbortSignal;
  /** Asks to end at once: what is under way is told so, and goes to other workers. */
  readonly aborted: AbortSignal;
  /** Told of what goes wrong and is tried again, a line each. */
  readonly log: Log;
}

/**
 * Takes tenants from the queue of a database and does their jobs, until it is asked to stop. A database that goes away is waited
 * for.
 *
 * A job's signal aborts when its lease is lost, so that another worker may have the tenant by now, or when
 * everything is to end at once; never because the job has ended. What the job does then is no longer asked for: it goes to
 * whoever is free.
 *
 * @throws {DatabaseError} `ERR_ROLLOUT_DATABASE` when the database can't be reached or used at the beginning.
 */
export async function workOnPgBoss(
  url: string,
  doJob: DoJob,
  { concurrency, stopping, aborted, log }: PgBossWorkerOptions,
): Promise<void> {
  const boss = await openQueue(await postgresPlace(url), "worker", Math.min(concurrency, 4) + 1, log);
  const leases = new Leases((attempts) => boss.touch(QUEUE, attempts));
  const handle = async (queued: QueuedJob<Job>): Promise<void> => {
    await using lease = leases.take({ id: queued.id, retryCount: queued.retryCount });
    const signal = AbortSignal.any([lease.signal, aborted]);
    try {
      await doJob(queued.data, signal);
    } catch (error) {
      log(`${quote(queued.data.tenant)} could not be worked on: ${(error as Error).message}`);
      await sleep(REST_MS, undefined, { signal }).catch(() => {});
      throw error;
    }
    // Not completed: it has to be looked at again, by whoever has it then.
    signal.throwIfAborted();
  };
  const begin = async (): Promise<void> => {
    const place = await boss.work<Job>(QUEUE, WORK_OPTIONS, async ([queued]) => {
      try {
        if (queued !== undefined) await handle(queued);
      } finally {
        // Looks for the next one now; pg-boss would wait until it is notified of one, or its time has come.
        boss.notifyWorker(place);
      }
    });
  };
  try {
    for (let places = 0; places < concurrency; places++) await begin();
    await aborts(stopping, aborted);
    await Promise.race([boss.offWork(QUEUE, { wait: true }), aborts(aborted).then(() => sleep(REST_MS))]);
  } finally {
    leases.close();
    await closeQueue(boss);
  }
}

/** Waits until one of them aborts. */
async function aborts(...signals: AbortSignal[]): Promise<void> {
  const any = AbortSignal.any(signals);
  if (any.aborted) return;
  await new Promise<void>((resolve) => any.addEventListener("abort", () => resolve(), { once: true }));
}
