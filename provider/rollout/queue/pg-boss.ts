import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PgBoss } from "pg-boss";
import { printable } from "../../settings/text";
import { isConnectionLost, type PostgresPlace } from "../database/postgres-connection";
import type { Job } from "./lane";

/** The queue of tenants whose turn has come. */
export const QUEUE = "tenants";

/** After so many seconds without a sign of life, a tenant is given to another worker: the least that pg-boss takes. */
export const HEARTBEAT_S = 10;

const QUEUE_OPTIONS = {
  heartbeatSeconds: HEARTBEAT_S,
  // A crash uses one up, and so does a journal that can't be written; a tenant's own failure never does.
  retryLimit: 1_000,
  retryDelay: 0,
  // Who is dead is known by the heartbeat. This only bounds what hangs.
  expireInSeconds: 12 * 3_600,
  deleteAfterSeconds: 86_400,
  notify: true,
};

/** How soon a job that lacks its heartbeat is seen, in seconds. */
const WATCH_S = 2;

export type Log = (line: string) => void;

/**
 * Opens the queue, and makes it where there is none. What goes wrong in the background is logged, and tried again.
 *
 * @param role how its sessions are called in PostgreSQL's lists.
 * @throws {DatabaseError} when the database can't be reached or used.
 */
export async function openQueue(
  place: PostgresPlace,
  role: string,
  connections: number,
  log: Log,
): Promise<PgBoss> {
  const options = {
    ...place.config,
    application_name: `email-security ${role}`,
    query_timeout: 30_000,
    max: connections,
    schema: place.queueSchema,
    schedule: false,
    superviseIntervalSeconds: WATCH_S,
    monitorIntervalSeconds: WATCH_S,
    useListenNotify: true,
    // The queue is small, and its indexes with it.
    reindex: false,
  };
  const boss = new PgBoss(options);
  const outage = new Outage(boss, place, log);
  boss.on("error", (error) => outage.saw(error));
  boss.on("warning", ({ message }) => log(`The queue: ${printable(message)}`));
  try {
    await boss.start();
    await boss.createQueue(QUEUE, QUEUE_OPTIONS);
    return boss;
  } catch (error) {
    await closeQueue(boss);
    throw place.told(error, "opening the queue");
  }
}

/** Lets go of the queue; a server that answers no more is not waited for. */
export async function closeQueue(boss: PgBoss): Promise<void> {
  const stopped = boss.stop({ graceful: false }).catch(() => {});
  await Promise.race([stopped, sleep(2_000, undefined, { ref: false })]);
}

/** The same for the same job, so that handing it out again changes nothing: a UUID of version 5. */
export function jobId({ rollout, wave, tenant, round }: Job): string {
  const text = JSON.stringify([rollout, wave, tenant, round]);
  const bytes = createHash("sha1").update(NAMESPACE).update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const NAMESPACE = Buffer.from("6c1f0a54a5d04b1d9b6c0d9e4c5e7a10", "hex");

/** Says once that the database is away, and once that it is back, however many notice. */
class Outage {
  readonly #boss: PgBoss;
  readonly #place: PostgresPlace;
  readonly #log: Log;
  #isAway = false;

  constructor(boss: PgBoss, place: PostgresPlace, log: Log) {
    this.#boss = boss;
    this.#place = place;
    this.#log = log;
  }

  saw(error: unknown): void {
    // It names its own parts, which say nothing to anybody.
    const message = this.#place.told(error, "the queue").message.replace(/ \(Queue: [^)]*\)/, "");
    if (!isConnectionLost(error)) this.#log(message);
    else if (!this.#isAway) void this.#wait(message);
  }

  async #wait(message: string): Promise<void> {
    this.#isAway = true;
    this.#log(`${message} Waiting for it.`);
    while (!(await this.#isBack())) await sleep(1_000, undefined, { ref: false });
    this.#isAway = false;
    this.#log(`${this.#place.name} answers again.`);
  }

  async #isBack(): Promise<boolean> {
    try {
      await this.#boss.getDb().executeSql("select 1");
      return true;
    } catch {
      return false;
    }
  }
}
