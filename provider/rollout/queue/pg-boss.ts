import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PgBoss } from "pg-boss";
import { sanitizeLine } from "../../model/text";
import { isConnectionLost, type PostgresConnection } from "../database/postgres-connection";
import type { Job } from "./job-queue";

export const QUEUE_NAME = "tenants";

/** A tenant goes to another worker after this many seconds without a heartbeat. It is the minimum of pg-boss. */
export const HEARTBEAT_SECONDS = 10;

const QUEUE_OPTIONS = {
  heartbeatSeconds: HEARTBEAT_SECONDS,
  // Crashes and journal failures use up retries. A tenant's own failure never does.
  retryLimit: 1_000,
  retryDelay: 0,
  // The heartbeat detects dead workers. This limit only covers jobs that hang.
  expireInSeconds: 12 * 3_600,
  deleteAfterSeconds: 86_400,
  notify: true,
};

/** How soon a missing heartbeat is detected, in seconds. */
const SUPERVISE_INTERVAL_S = 2;

export type Log = (line: string) => void;

/**
 * Opens the queue, and creates it if it is missing. Problems in the background are logged and retried.
 *
 * @param role the name of its sessions in PostgreSQL.
 * @throws {DatabaseError} if the database can't be reached or used.
 */
export async function openPgBoss(
  connection: PostgresConnection,
  role: string,
  maxConnections: number,
  log: Log,
): Promise<PgBoss> {
  const options = {
    ...connection.config,
    application_name: `email-security ${role}`,
    query_timeout: 30_000,
    max: maxConnections,
    schema: connection.queueSchema,
    schedule: false,
    superviseIntervalSeconds: SUPERVISE_INTERVAL_S,
    monitorIntervalSeconds: SUPERVISE_INTERVAL_S,
    useListenNotify: true,
    // The queue and its indexes are small.
    reindex: false,
  };
  const boss = new PgBoss(options);
  const outage = new OutageLog(boss, connection, log);
  boss.on("error", (error) => outage.report(error));
  boss.on("warning", ({ message }) => log(`The queue: ${sanitizeLine(message)}`));
  try {
    await boss.start();
    await boss.createQueue(QUEUE_NAME, QUEUE_OPTIONS);
    return boss;
  } catch (error) {
    await closePgBoss(boss);
    throw connection.toDatabaseError(error, "opening the queue");
  }
}

/** Closes the queue, without waiting for a server that no longer answers. */
export async function closePgBoss(boss: PgBoss): Promise<void> {
  const stopped = boss.stop({ graceful: false }).catch(() => {});
  await Promise.race([stopped, sleep(2_000, undefined, { ref: false })]);
}

/** Returns a stable id for a job, so that enqueuing it again has no effect: a UUID of version 5. */
export function getJobId({ rollout, wave, tenant, retryRound }: Job): string {
  const text = JSON.stringify([rollout, wave, tenant, retryRound]);
  const bytes = createHash("sha1").update(JOB_ID_NAMESPACE).update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const JOB_ID_NAMESPACE = Buffer.from("6c1f0a54a5d04b1d9b6c0d9e4c5e7a10", "hex");

/** Logs an outage of the database once, and its recovery once, however many errors report it. */
class OutageLog {
  readonly #boss: PgBoss;
  readonly #connection: PostgresConnection;
  readonly #log: Log;
  #isUnavailable = false;

  constructor(boss: PgBoss, connection: PostgresConnection, log: Log) {
    this.#boss = boss;
    this.#connection = connection;
    this.#log = log;
  }

  report(error: unknown): void {
    // pg-boss names its internal parts, which don't help the user.
    const message = this.#connection.toDatabaseError(error, "the queue").message.replace(/ \(Queue: [^)]*\)/, "");
    if (!isConnectionLost(error)) this.#log(message);
    else if (!this.#isUnavailable) void this.#waitForRecovery(message);
  }

  async #waitForRecovery(message: string): Promise<void> {
    this.#isUnavailable = true;
    this.#log(`${message} Waiting for it.`);
    while (!(await this.#isAvailable())) await sleep(1_000, undefined, { ref: false });
    this.#isUnavailable = false;
    this.#log(`${this.#connection.name} is available again.`);
  }

  async #isAvailable(): Promise<boolean> {
    try {
      await this.#boss.getDb().executeSql("select 1");
      return true;
    } catch {
      return false;
    }
  }
}
