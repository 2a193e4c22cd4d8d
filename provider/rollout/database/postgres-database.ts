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

/** What holds for each connection of the pool. */
const SESSION = {
  // Times of its own that are longer than a pause of this process would block everybody else.
  idle_in_transaction_session_timeout: "15s",
  statement_timeout: "25s",
};
/** How long an answer may take, in milliseconds: longer than the server itself gives a statement. */
const STATEMENT_MS = 30_000;
/** How many connections to keep at most; a hold has one more. */
const CONNECTIONS = 8;
/** Of each transaction that was committed, for a while: its mark. */
const MARKS = "committed";
/** How long a mark is kept, in milliseconds: longer than anybody waits for a server. */
const MARK_KEPT_MS = 3_600_000;
/** The backoff before a retry, in milliseconds, at first and at most. */
const BACKOFF = { baseMs: 50, maxMs: 2_000 };

/** How often to see whether somebody is in a hurry, in milliseconds. */
const LOOK_MS = 250;

export interface PostgresOptions {
  /** How long a server that went away is waited for, in milliseconds. Default: 60,000. */
  readonly patienceMs?: number;
}

/**
 * Opens a PostgreSQL database (11 or newer) as a {@link Database}. Its tables are in a schema of their own, `email_security`, or the one
 * that the URL's `options` name as `search_path`; it is made where there is none.
 *
 * Whatever writes has its turn: one writer after the other, on all machines, as in a SQLite file. What lost its connection is done again on
 * another, a transaction whose end is not known only when it was not committed. Texts can't hold a
 * NUL character in PostgreSQL: it becomes U+FFFD.
 *
 * @throws {DatabaseError} `ERR_ROLLOUT_DATABASE` when it can't be reached or used; from each method too.
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
  /** The number of the lock that writers have one after the other. */
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
        // A connection that breaks says so to whoever uses it.
        client.on("error", () => {});
        await setSession(client, { ...SESSION, search_path: place.schema });
      },
    });
    // One that breaks while nobody uses it is replaced by the next that is needed.
    this.#pool.on("error", () => {});
  }

  async makeSchema(): Promise<void> {
    const { schema } = this.#place;
    // A wrong address is told at once; a server that is starting is waited for.
    await this.#patiently(() => this.#connected((client) => this.#run(client, "select 1")), isStarting);
    await this.#connected(async (client) => {
      await this.#begin(client);
      // Who may not create anything may use what is there.
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
    /** An attempt of which is not known whether it was committed. */
    let doubtful: { readonly mark: string; readonly answer: T } | undefined;
    const attempt = async (client: Client): Promise<T> => {
      await this.#begin(client);
      // With the lock, whoever was before has ended, one way or the other.
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

  /** Begins a transaction when it is this one's turn: nobody else writes from here on, so that nothing can lose a race. */
  async #begin(client: Client): Promise<void> {
    await this.#run(
      client,
      `begin isolation level read committed; select pg_advisory_xact_lock(${this.#turn})`,
    );
  }

  /** Commits, with a mark by which it can be told later that it was. */
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

  /** Works with a connection of the pool, and gives it back as it was, or ends it. */
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

  /** Does what may be done again until it works, as long as patience lasts. */
  async #patiently<T>(attempt: () => Promise<T>, mayBeAgain: (error: unknown) => boolean): Promise<T> {
    const since = performance.now();
    for (let failures = 1; ; failures++) {
      if (this.#closed) throw new DatabaseError(`${this.#place.name} was closed before this.`);
      try {
        return await this.#unlessHurried(attempt(), since);
      } catch (error) {
        const isOurs = error instanceof DatabaseError;
        if (!isOurs || !mayBeAgain(error) || this.#patience.isOver(since, this.#patienceMs)) throw error;
        // Not all at once, who have lost the same server.
        await sleep(delayMs(failures, Math.random(), BACKOFF));
      }
    }
  }

  /** An answer that may never come is not waited for by who is in a hurry. */
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
    // Outside of a transaction it does nothing.
    await client.query("rollback");
    client.release();
  } catch (failure) {
    client.release(failure as Error);
  }
}

/** Whether a server is starting, or has no connection left: it will have one soon. */
function isStarting(error: unknown): boolean {
  const { code = "" } = ((error as Error).cause ?? {}) as { code?: string };
  return code === "57P03" || code === "53300";
}

/** By the numbers of PostgreSQL's types: whole numbers, floating ones, and what `sum` makes of them. */
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700]);
const [BOOLEAN, BYTEA] = [16, 17];

/** Reads values as SQLite gives them: numbers, 1 and 0 for true and false, bytes, and text for all else. */
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
