import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Pool, type PoolClient } from "pg";
import { computeBackoffMs } from "../../client/retry-policy";
import { BusyTimeout } from "./busy-timeout";
import type { Database, DatabaseLock, Queryable, Row, SqlValue } from "./database";
import { DatabaseError } from "./database-error";
import {
  isConnectionLost,
  isTransactionConflict,
  type PostgresConnection,
  resolvePostgresConnection,
} from "./postgres-connection";
import { acquirePostgresLock } from "./postgres-lock";
import { applySessionSettings, closeConnection } from "./postgres-session";

const SESSION_SETTINGS = {
  // Without these timeouts, a long pause of this process would block every other writer.
  idle_in_transaction_session_timeout: "15s",
  statement_timeout: "25s",
};
/** How long an answer may take, in milliseconds: longer than the server's own statement timeout. */
const STATEMENT_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 8;
/** The table that stores the id of each committed transaction for a while. */
const COMMITS_TABLE = "committed";
/** How long to keep a commit id, in milliseconds: longer than any wait for a server. */
const COMMIT_RETENTION_MS = 3_600_000;
/** The backoff before a retry, in milliseconds. */
const BACKOFF = { baseMs: 50, maxMs: 2_000 };

/** How often to check whether the caller has shortened the timeout, in milliseconds. */
const CHECK_INTERVAL_MS = 250;

export interface PostgresOptions {
  /** How long to wait for an unavailable server, in milliseconds. Default: 60,000. */
  readonly busyTimeoutMs?: number;
}

/**
 * Opens a PostgreSQL database (11 or newer) as a {@link Database}. Its tables are in the schema `email_security`, or in the one
 * that `search_path` names in the URL's `options`. Creates a missing schema.
 *
 * Writers on all machines take turns, as with a SQLite file. An operation that lost its connection is retried on another one. If the
 * outcome
 * of a transaction is unknown, it is retried only if it was not committed. PostgreSQL can't store NUL characters in text, so they become
 * U+FFFD.
 *
 * @throws {DatabaseError} `ERR_ROLLOUT_DATABASE` if the database can't be reached or used. Each method throws it too.
 */
export async function openPostgres(url: string, { busyTimeoutMs = 60_000 }: PostgresOptions = {}): Promise<Database> {
  const connection = await resolvePostgresConnection(url);
  const database = new PostgresDatabase(connection, busyTimeoutMs);
  try {
    await database.createSchema();
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

class PostgresDatabase implements Database {
  readonly dialect = "postgres";
  readonly #connection: PostgresConnection;
  readonly #busyTimeoutMs: number;
  /** The key of the advisory lock that serializes writers. */
  readonly #writerLockKey: bigint;
  readonly #pool: Pool;
  readonly #locks = new Set<DatabaseLock>();
  readonly #busyTimeout = new BusyTimeout();
  #closing: Promise<void> | undefined;

  constructor(connection: PostgresConnection, busyTimeoutMs: number) {
    this.#connection = connection;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#writerLockKey = createHash("sha256").update(`${connection.schema} writes`).digest().readBigInt64BE();
    this.#pool = new Pool({
      ...connection.config,
      max: MAX_CONNECTIONS,
      query_timeout: STATEMENT_TIMEOUT_MS,
      types: { getTypeParser: createValueParser },
      onConnect: async (client) => {
        // A broken connection already reports the error to its user.
        client.on("error", () => {});
        await applySessionSettings(client, { ...SESSION_SETTINGS, search_path: connection.schema });
      },
    });
    // The pool replaces a connection that breaks while idle.
    this.#pool.on("error", () => {});
  }

  async createSchema(): Promise<void> {
    const { schema } = this.#connection;
    // A wrong address fails at once, but a starting server is worth waiting for.
    await this.#retry(() => this.#runOnConnection((client) => this.#run(client, "select 1")), isStarting);
    await this.#runOnConnection(async (client) => {
      await this.#begin(client);
      // A user without the right to create anything may use existing tables.
      const hasRows = async (sql: string, name: string) => (await this.#run(client, sql, [name])).length > 0;
      if (!(await hasRows("select 1 as found from pg_namespace where nspname = $1", schema))) {
        await this.#run(client, `create schema ${schema}`);
      }
      if (
        !(await hasRows(
          "select 1 as found from pg_tables where schemaname = current_schema() and tablename = $1",
          COMMITS_TABLE,
        ))
      ) {
        await this.#run(client, `create table ${COMMITS_TABLE} (mark text primary key, at bigint not null)`);
        await this.#run(client, `create index on ${COMMITS_TABLE} (at)`);
      }
      await this.#run(client, "commit");
    });
  }

  async query(sql: string, parameters: readonly SqlValue[] = []): Promise<readonly Row[]> {
    if (!/^\s*select\b/i.test(sql)) return await this.transaction((database) => database.query(sql, parameters));
    const runQuery = () => this.#runOnConnection((client) => this.#run(client, sql, parameters));
    return await this.#retry(runQuery, isConnectionLost);
  }

  async transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T> {
    /** An attempt whose commit has an unknown outcome. */
    let uncertain: { readonly commitId: string; readonly answer: T } | undefined;
    const attempt = async (client: Client): Promise<T> => {
      await this.#begin(client);
      // Holding the lock means that the previous attempt has ended, committed or not.
      if (uncertain && (await this.#isCommitted(client, uncertain.commitId))) {
        await this.#run(client, "rollback");
        return uncertain.answer;
      }
      uncertain = undefined;
      const result = await work({
        dialect: this.dialect,
        query: (sql, parameters) => this.#run(client, sql, parameters),
      });
      uncertain = { commitId: randomUUID(), answer: result };
      await this.#commit(client, uncertain.commitId);
      return result;
    };
    return await this.#retry(
      () => this.#runOnConnection(attempt),
      (error) => isConnectionLost(error) || isTransactionConflict(error),
    );
  }

  async lock(name: string, onLost: (reason: string) => void): Promise<DatabaseLock | undefined> {
    const lock = await this.#retry(() => acquirePostgresLock(this.#connection, name, onLost), isConnectionLost);
    if (lock !== undefined) this.#locks.add(lock);
    return lock;
  }

  async isLocked(name: string): Promise<boolean> {
    const lock = await this.lock(name, () => {});
    await lock?.release();
    return lock === undefined;
  }

  shortenBusyTimeout(delayMs: number): void {
    this.#busyTimeout.shorten(delayMs);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#locks].map((lock) => lock.release()));
    await closeConnection(this.#pool);
  }

  /** Begins a transaction and waits for the writers' lock. No one else writes from here on, so the transaction can't lose a race. */
  async #begin(client: Client): Promise<void> {
    await this.#run(
      client,
      `begin isolation level read committed; select pg_advisory_xact_lock(${this.#writerLockKey})`,
    );
  }

  /** Commits with an id that proves later that the commit took effect. */
  async #commit(client: Client, commitId: string): Promise<void> {
    const now = Date.now();
    await this.#run(
      client,
      `insert into ${COMMITS_TABLE} (mark, at) values ('${commitId}', ${now}); delete from ${COMMITS_TABLE} where at < ${now - COMMIT_RETENTION_MS}; commit`,
    );
  }

  async #isCommitted(client: Client, commitId: string): Promise<boolean> {
    const rows = await this.#run(client, `select 1 as found from ${COMMITS_TABLE} where mark = $1`, [commitId]);
    return rows.length > 0;
  }

  async #run(client: Client, sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      const { rows } = await client.query(sql, parameters.map(toStorableValue));
      return rows as Row[];
    } catch (error) {
      throw this.#connection.toDatabaseError(error, "a statement");
    }
  }

  /** Runs work on a pooled connection, then returns the connection to the pool or closes it. */
  async #runOnConnection<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw this.#connection.toDatabaseError(error, "connecting");
    });
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      await returnToPool(client, error);
      throw error;
    }
  }

  async #retry<T>(attempt: () => Promise<T>, isRetryable: (error: unknown) => boolean): Promise<T> {
    const startedAt = performance.now();
    for (let failures = 1; ; failures++) {
      if (this.#closing) throw new DatabaseError(`${this.#connection.name} was closed before this.`);
      try {
        return await this.#waitForResult(attempt(), startedAt);
      } catch (error) {
        const isDatabaseError = error instanceof DatabaseError;
        if (!isDatabaseError || !isRetryable(error) || this.#busyTimeout.isExceeded(startedAt, this.#busyTimeoutMs))
          throw error;
        // Jitter spreads the retries of clients that lost the same server.
        await sleep(computeBackoffMs(failures, Math.random(), BACKOFF));
      }
    }
  }

  /** Stops waiting for an answer once the caller has shortened the timeout. The answer may never come. */
  async #waitForResult<T>(result: Promise<T>, startedAt: number): Promise<T> {
    const { promise: timedOut, reject } = Promise.withResolvers<never>();
    const timer = setInterval(() => {
      if (this.#busyTimeout.isExceeded(startedAt, Number.POSITIVE_INFINITY)) {
        reject(new DatabaseError(`${this.#connection.name} had not responded when the operation was cancelled.`));
      }
    }, CHECK_INTERVAL_MS);
    try {
      return await Promise.race([result, timedOut]);
    } finally {
      clearInterval(timer);
    }
  }
}

async function returnToPool(client: PoolClient, error: unknown): Promise<void> {
  if (isConnectionLost(error)) {
    client.release(error as Error);
    return;
  }
  try {
    // A no-op outside a transaction.
    await client.query("rollback");
    client.release();
  } catch (rollbackError) {
    client.release(rollbackError as Error);
  }
}

/** Whether a server is starting or has no free connection. Both pass soon. */
function isStarting(error: unknown): boolean {
  const { code = "" } = ((error as Error).cause ?? {}) as { code?: string };
  return code === "57P03" || code === "53300";
}

/** PostgreSQL's type numbers of integers, floats and the results of `sum`. */
const NUMBER_TYPES: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700]);
const [BOOLEAN, BYTEA] = [16, 17];

/** Reads values as SQLite returns them: numbers, 1 and 0 for booleans, bytes, and text for all other types. */
function createValueParser(type: number): (value: string) => SqlValue {
  if (NUMBER_TYPES.has(type)) return parseExactNumber;
  if (type === BOOLEAN) return (value) => (value === "t" ? 1 : 0);
  if (type === BYTEA) return (value) => Uint8Array.from(Buffer.from(value.slice("\\x".length), "hex"));
  return (value) => value;
}

function parseExactNumber(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new RangeError(`The number ${text} can't be represented exactly`);
  }
  return number;
}

function toStorableValue(value: SqlValue): SqlValue {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value;
}
