import { Client } from "pg";
import type { DatabaseLock } from "./database";
import type { PostgresConnection } from "./postgres-connection";
import { applySessionSettings, closeConnection, PEER_TIMEOUT_MS } from "./postgres-session";

const HEARTBEAT_INTERVAL_MS = 2_000;
/**
 * The longest silence of the server before the lock counts as lost, in milliseconds. It is shorter than the time after
 * which the server gives the lock to another client. The previous holder therefore notices first.
 */
const SILENCE_TIMEOUT_MS = PEER_TIMEOUT_MS - 1_000;

/**
 * Locks a name with an advisory lock of PostgreSQL, on its own connection. Returns undefined if another client holds
 * it.
 *
 * The lock is lost with the connection, after ten seconds of silence from the server, or when the session changes, as
 * behind a pooler. The server releases it at once when this process ends, eleven seconds after this machine vanishes,
 * and 30 seconds after this process hangs.
 */
export async function acquirePostgresLock(
  connection: PostgresConnection,
  name: string,
  onLost: (reason: string) => void,
): Promise<DatabaseLock | undefined> {
  const client = new Client({ ...connection.config, query_timeout: SILENCE_TIMEOUT_MS });
  let lock: PostgresLock | undefined;
  client.on("error", (error) => lock?.lose(error.message));
  client.on("end", () => lock?.lose("the connection ended"));
  try {
    await client.connect();
    await applySessionSettings(client, { idle_session_timeout: "30s" });
    // The lock has two keys: a namespace, and the name.
    const sentAt = performance.now();
    const { rows } = await client.query("select pg_try_advisory_lock(hashtext($1), hashtext($2)) as held", [
      `${connection.schema} holds`,
      name,
    ]);
    if (rows[0]?.["held"] === true) {
      lock = new PostgresLock(client, onLost, sentAt);
      return lock;
    }
    await closeConnection(client);
    return undefined;
  } catch (error) {
    await closeConnection(client);
    throw connection.toDatabaseError(error, "taking a lock");
  }
}

class PostgresLock implements DatabaseLock {
  readonly #client: Client;
  readonly #onLost: (reason: string) => void;
  #isEnded = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout;

  constructor(client: Client, onLost: (reason: string) => void, lastHeardAt: number) {
    this.#client = client;
    this.#onLost = onLost;
    this.#deadline = this.#startSilenceTimer(lastHeardAt);
    this.#scheduleHeartbeat();
  }

  async release(): Promise<void> {
    if (this.#isEnded) return;
    this.#end();
    // The lock ends with the session, but this call confirms the release.
    await this.#client.query("select pg_advisory_unlock_all()").catch(() => {});
    await closeConnection(this.#client);
  }

  lose(reason: string): void {
    if (this.#isEnded) return;
    this.#end();
    void closeConnection(this.#client);
    this.#onLost(reason);
  }

  #end(): void {
    this.#isEnded = true;
    clearTimeout(this.#heartbeat);
    clearTimeout(this.#deadline);
  }

  #scheduleHeartbeat(): void {
    this.#heartbeat = setTimeout(() => void this.#sendHeartbeat(), HEARTBEAT_INTERVAL_MS);
  }

  async #sendHeartbeat(): Promise<void> {
    const sentAt = performance.now();
    try {
      const { rows } = await this.#client.query(
        "select 1 from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted",
      );
      if (this.#isEnded) return;
      if (rows.length === 0) {
        this.lose("its session is gone; a connection pooler such as PgBouncer must use session pooling");
        return;
      }
    } catch (error) {
      this.lose((error as Error).message);
      return;
    }
    clearTimeout(this.#deadline);
    this.#deadline = this.#startSilenceTimer(sentAt);
    this.#scheduleHeartbeat();
  }

  #startSilenceTimer(lastHeardAt: number): NodeJS.Timeout {
    const remainingMs = lastHeardAt + SILENCE_TIMEOUT_MS - performance.now();
    return setTimeout(() => this.lose("the server did not respond for ten seconds"), remainingMs);
  }
}
