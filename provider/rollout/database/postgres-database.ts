import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Pool, type PoolClient } from "pg";
import { delayMs } from "../../client/retry-policy";
import type { Database, Hold, Queryable, Row, SqlValue } from "./database";
import { DatabaseError } from "./database-error";
import { Patience } from "./patience";
import { isConnectionLost, isRaceLost, type PostgresPlace, postgresPlace } from "./postgres-connection";
import { holdInPostgres } from "./postgres-hold";
import { ended, setSession } from "./postgres-session";

/** The session settings of each connection in the pool. */
const SESSION = {
  // Without these timeouts, a long pause of this process would block every other writer.
  idle_in_transaction_session_timeout: "15s",
  statement_timeout: "25s",
};
/** How long an answer may take, in milliseconds: longer than the server's own statement timeout. */
const STATEMENT_MS = 30_000;
/** The maximum number of pooled connections. Each hold uses one more. */
const CONNECTIONS = 8;
/** The table that records the mark of each committed transaction for a while. */
const MARKS = "committed";
/** How long to keep a mark, in milliseconds: longer than any wait for a server. */
const MARK_KEPT_MS = 3_600_000;
/** The backoff before a retry, in milliseconds. */
const BACKOFF = { baseMs: 50, maxMs: 2_000 };

/** How often to check whether the caller is in a hurry, in milliseconds. */
const LOOK_MS = 250;

export interface PostgresOptions {
  /** How long to wait for an unavailable server, in milliseconds. Default: 60,000. */
  readonly patienceMs?: number;
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
export async function openPostgres(
  url: string,
  { patienceMs = 60_000 }: PostgresOptions = {},
): Promise<Database> {
  const place = await postgresPlace(url);
  const database = new PostgresDatabase(place, patienceMs);
  try {
    await database.makeSchema();
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

class PostgresDatabase implements Database {
  readonly dialect = "postgres";
  readonly #place: PostgresPlace;
  readonly #patienceMs: number;
  /** The key of the advisory lock that serializes writers. */
  readonly #turn: bigint;
  readonly #pool: Pool;
  readonly #holds = new Set<Hold>();
  readonly #patience = new Patience();
  #closed: Promise<void> | undefined;

  constructor(place: PostgresPlace, patienceMs: number) {
    this.#place = place;
    this.#patienceMs = patienceMs;
    this.#turn = createHash("sha256").update(`${place.schema} writes`).digest().readBigInt64BE();
    this.#pool = new Pool({
      ...place.config,
      max: CONNECTIONS,
      query_timeout: STATEMENT_MS,
      types: { getTypeParser: valueReader },
      onConnect: async (client) => {
        // A broken connection already reports the error to its user.
        client.on("error", () => {});
        await setSession(client, { ...SESSION, search_path: place.schema });
      },
    });
    // The pool replaces a connection that breaks while idle.
    this.#pool.on("error", () => {});
  }

  async makeSchema(): Promise<void> {
    const { schema } = this.#place;
    // A wrong address fails at once, but a starting server is worth waiting for.
    await this.#patiently(() => this.#connected((client) => this.#run(client, "select 1")), isStarting);
    await this.#connected(async (client) => {
      await this.#begin(client);
      // A user without the right to create anything may use existing tables.
      const isThere = async (sql: string, name: string) => (await this.#run(client, sql, [name])).length > 0;
      if (!(await isThere("select 1 as found from pg_namespace where nspname = $1", schema))) {
        await this.#run(client, `create schema ${schema}`);
      }
      if (
        !(await isThere(
          "select 1 as found from pg_tables where schemaname = current_schema() and tablename = $1",
          MARKS,
        ))
      ) {
        await this.#run(client, `create table ${MARKS} (mark text primary key, at bigint not null)`);
        await this.#run(client, `create index on ${MARKS} (at)`);
      }
      await this.#run(client, "commit");
    });
  }

  async query(sql: string, parameters: readonly SqlValue[] = []): Promise<readonly Row[]> {
    if (!/^\s*select\b/i.test(sql))
      return await this.transaction((database) => database.query(sql, parameters));
    const read = () => this.#connected((client) => this.#run(client, sql, parameters));
    return await this.#patiently(read, isConnectionLost);
  }

  async transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T> {
    /** An attempt whose commit has an unknown outcome. */
    let doubtful: { readonly mark: string; readonly answer: T } | undefined;
    const attempt = async (client: Client): Promise<T> => {
      await this.#begin(client);
      // Holding the lock means that the previous attempt has ended, committed or not.
      if (doubtful && (await this.#isMarked(client, doubtful.mark))) {
        await this.#run(client, "rollback");
        return doubtful.answer;
      }
      doubtful = undefined;
      const answer = await work({
        dialect: this.dialect,
        query: (sql, parameters) => this.#run(client, sql, parameters),
      });
      doubtful = { mark: randomUUID(), answer };
      await this.#commit(client, doubtful.mark);
      return answer;
    };
    return await this.#patiently(
      () => this.#connected(attempt),
      (error) => isConnectionLost(error) || isRaceLost(error),
    );
  }

  async hold(name: string, lost: (why: string) => void): Promise<Hold | undefined> {
    const hold = await this.#patiently(() => holdInPostgres(this.#place, name, lost), isConnectionLost);
    if (hold !== undefined) this.#holds.add(hold);
    return hold;
  }

  async isHeld(name: string): Promise<boolean> {
    const hold = await this.hold(name, () => {});
    await hold?.release();
    return hold === undefined;
  }

  hurry(ms: number): void {
    this.#patience.hurry(ms);
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#holds].map((hold) => hold.release()));
    await ended(this.#pool);
  }

  /** Begins a transaction and waits for the writers' lock. No one else writes from here on, so the transaction can't lose a race. */
  async #begin(client: Client): Promise<void> {
    await this.#run(
      client,
      `begin isolation level read committed; select pg_advisory_xact_lock(${this.#turn})`,
    );
  }

  /** Commits, with a mark that proves later that the commit took effect. */
  async #commit(client: Client, mark: string): Promise<void> {
    const now = Date.now();
    await this.#run(
      client,
      `insert into ${MARKS} (mark, at) values ('${mark}', ${now}); delete from ${MARKS} where at < ${now - MARK_KEPT_MS}; commit`,
    );
  }

  async #isMarked(client: Client, mark: string): Promise<boolean> {
    const rows = await this.#run(client, `select 1 as found from ${MARKS} where mark = $1`, [mark]);
    return rows.length > 0;
  }

  async #run(client: Client, sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      const { rows } = await client.query(sql, parameters.map(storable));
      return rows as Row[];
    } catch (error) {
      throw this.#place.told(error, "a statement");
    }
  }

  /** Runs work on a pooled connection, then returns the connection to the pool or closes it. */
  async #connected<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw this.#place.told(error, "connecting");
    });
    try {
      const answer = await work(client);
      client.release();
      return answer;
    } catch (error) {
      await giveBack(client, error);
      throw error;
    }
  }

  /** Retries an operation until it succeeds or the patience is over. */
  async #patiently<T>(attempt: () => Promise<T>, mayBeAgain: (error: unknown) => boolean): Promise<T> {
    const since = performance.now();
    for (let failures = 1; ; failures++) {
      if (this.#closed) throw new DatabaseError(`${this.#place.name} was closed before this.`);
      try {
        return await this.#unlessHurried(attempt(), since);
      } catch (error) {
        const isOurs = error instanceof DatabaseError;
        if (!isOurs || !mayBeAgain(error) || this.#patience.isOver(since, this.#patienceMs)) throw error;
        // Jitter spreads the retries of clients that lost the same server.
        await sleep(delayMs(failures, Math.random(), BACKOFF));
      }
    }
  }

  /** Stops waiting for an answer when the caller is in a hurry, since it may never come. */
  async #unlessHurried<T>(answer: Promise<T>, since: number): Promise<T> {
    const { promise: hurried, reject } = Promise.withResolvers<never>();
    const look = setInterval(() => {
      if (this.#patience.isOver(since, Number.POSITIVE_INFINITY)) {
        reject(new DatabaseError(`${this.#place.name} had not answered yet when this was asked to end.`));
      }
    }, LOOK_MS);
    try {
      return await Promise.race([answer, hurried]);
    } finally {
      clearInterval(look);
    }
  }
}

async function giveBack(client: PoolClient, error: unknown): Promise<void> {
  if (isConnectionLost(error)) {
    client.release(error as Error);
    return;
  }
  try {
    // A no-op outside a transaction.
    await client.query("rollback");
    client.release();
  } catch (failure) {
    client.release(failure as Error);
  }
}

/** Whether a server is starting or has no free connection. Both pass soon. */
function isStarting(error: unknown): boolean {
  const { code = "" } = ((error as Error).cause ?? {}) as { code?: string };
  return code === "57P03" || code === "53300";
}

/** PostgreSQL's type numbers of integers, floats and the results of `sum`. */
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700]);
const [BOOLEAN, BYTEA] = [16, 17];

/** Reads values as SQLite returns them: numbers, 1 and 0 for booleans, bytes, and text for all other types. */
function valueReader(type: number): (value: string) => SqlValue {
  if (NUMBERS.has(type)) return exactNumber;
  if (type === BOOLEAN) return (value) => (value === "t" ? 1 : 0);
  if (type === BYTEA) return (value) => Uint8Array.from(Buffer.from(value.slice("\\x".length), "hex"));
  return (value) => value;
}

function exactNumber(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new RangeError(`The number ${text} can't be told exactly`);
  }
  return number;
}

function storable(value: SqlValue): SqlValue {
  return typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value;
}
