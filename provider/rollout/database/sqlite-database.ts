import { existsSync, realpathSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import PQueue from "p-queue";
import { quote } from "../../settings/text";
import { unwritableReason } from "../model/system-reasons";
import type { Database, Hold, Queryable, Row, SqlValue } from "./database";
import { JournalError } from "./journal-error";
import { Patience } from "./patience";
import { isBusy, patienceWith, reasonOf, told } from "./sqlite-errors";
import {
  isThere,
  lockFile,
  makeEmpty,
  makeFolder,
  makeWhole,
  OpenedFiles,
  openFile,
  openUnlocked,
} from "./sqlite-file";
import { makeTables, versionOf } from "./tables";

/** How long one attempt to get SQLite's lock may block this process, in milliseconds; others have their turn between two. */
const BLOCK_MS = 50;
/** The wait between two attempts, in milliseconds, and up to twice as long. */
const RETRY_MS = 25;
/** After so long it is told that something is waited for, in milliseconds. */
const TELL_MS = 2_000;
/** SQLite's name for a database that has no file. */
const IN_MEMORY = ":memory:";
/** How many statements are kept prepared. Their texts are constants, but for lists of parameters. */
const KEPT_STATEMENTS = 200;

export interface SqliteOptions {
  /** Told what is waited for, a line each. */
  readonly log?: (line: string) => void;
}

/**
 * Opens a SQLite file as a {@link Database} with the journal's tables, and makes it, and its folder, where there is none; only
 * this user may read it.
 *
 * Several processes of one machine may use it at once. A commit is on the disk before it is answered. The file belongs on
 * a disk of this machine: the locks of network file systems can't be relied on.
 *
 * A lock of another process is waited for, two minutes at most; a disk that is full or fails, ten seconds. A file that was deleted,
 * replaced or emptied while it is open is an error of the next statement.
 *
 * A name is held by the operating system's lock on an empty file beside it, `<file>.<name>.lock`. It ends with the process,
 * however that ends, so nothing has to be renewed; it is lost only with that file. The empty file stays.
 *
 * A file that can't be written, as on a disk that is read-only or full, is opened for reads; what writes then fails.
 *
 * @throws {JournalError} `ERR_ROLLOUT_JOURNAL` when the file can't be made, is empty, no database or no journal; from each method
 * too.
 */
export async function openSqlite(file: string, { log = () => {} }: SqliteOptions = {}): Promise<Database> {
  return await told(file, async () => {
    if (!isThere(file)) await make(file);
    const database = await SqliteDatabase.connected(realpathSync(file), file, log);
    if ((await versionOf(database)) !== undefined) return database;
    await database.close();
    throw new JournalError(
      `${quote(file, 500)} can't be used as a rollout's journal: it is a SQLite database, and has no journal in it; it was left as it is. Give the name of another, or of one to be made.`,
    );
  });
}

/** A journal in memory, for what only this process shares. */
export async function openInMemory(): Promise<Database> {
  const database = SqliteDatabase.inMemory();
  await makeTables(database);
  return database;
}

/** Makes a journal in which nothing is written yet; of several processes, one does. */
async function make(file: string): Promise<void> {
  makeFolder(file);
  const lock = lockFile(file, "new");
  makeEmpty(lock);
  const turn = openFile(lock, BLOCK_MS);
  try {
    while (!isLocked(turn)) await sleep(RETRY_MS);
    if (isThere(file)) return;
    await makeWhole(file, async (part) => {
      const database = await SqliteDatabase.connected(part, file, () => {});
      try {
        await makeTables(database);
      } finally {
        await database.close();
      }
    });
  } finally {
    turn.close();
  }
}

class SqliteDatabase implements Database {
  readonly dialect = "sqlite";
  /** Where it is, whatever links lead there, and as it was named. */
  readonly #file: string;
  readonly #name: string;
  readonly #log: (line: string) => void;
  readonly #connection: DatabaseSync;
  readonly unwritable: string | undefined;
  readonly #opened: OpenedFiles;
  /** Statements and transactions of this process, one after the other: they share one connection. */
  readonly #turns = new PQueue({ concurrency: 1 });
  readonly #statements = new Map<string, Prepared>();
  readonly #holds = new Set<HeldFile>();
  readonly #patience = new Patience();
  /** Since when reads and writes fail: what was waited for in vain is not waited for again by the next. */
  readonly #failing = { read: Number.NaN, write: Number.NaN };
  #isClosed = false;

  private constructor(file: string, name: string, log: (line: string) => void, connection: DatabaseSync) {
    this.#file = file;
    this.#name = name;
    this.#log = log;
    this.#connection = connection;
    this.unwritable = file === IN_MEMORY ? undefined : unwritableReason(file);
    this.#opened = new OpenedFiles(file);
  }

  static async connected(file: string, name: string, log: (line: string) => void): Promise<SqliteDatabase> {
    const connection = openFile(file, BLOCK_MS);
    try {
      // What SQLite keeps beside the file is there from the first reading on.
      await whenFree(() => connection.exec("PRAGMA journal_mode = WAL; SELECT 1 FROM sqlite_master"));
      connection.exec("PRAGMA synchronous = FULL");
      return new SqliteDatabase(file, name, log, connection);
    } catch (error) {
      connection.close();
      if (isBusy(error) || unwritableReason(file) === undefined) throw error;
      return SqliteDatabase.#unlocked(file, name, log, error);
    }
  }

  /** For reads alone, where a disk that is full or read-only has no room for SQLite's locks. */
  static #unlocked(file: string, name: string, log: (line: string) => void, cause: unknown): SqliteDatabase {
    const connection = openUnlocked(file);
    try {
      connection.exec("SELECT 1 FROM sqlite_master");
      return new SqliteDatabase(file, name, log, connection);
    } catch {
      connection.close();
      throw cause;
    }
  }

  /** One that nobody else sees, and that ends with this process. */
  static inMemory(): SqliteDatabase {
    const sqlite = process.getBuiltinModule("node:sqlite");
    return new SqliteDatabase(IN_MEMORY, IN_MEMORY, () => {}, new sqlite.DatabaseSync(IN_MEMORY));
  }

  async query(sql: string, parameters: readonly SqlValue[] = []): Promise<readonly Row[]> {
    const kind = /^\s*(select|pragma)\b/i.test(sql) ? "read" : "write";
    return await this.#turn(kind, async () => this.#run(sql, parameters));
  }

  async transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T> {
    return await this.#turn("write", async () => {
      // The lock is taken first, so that nothing within can lose a race.
      this.#connection.exec("BEGIN IMMEDIATE");
      try {
        const result = await work({
          dialect: this.dialect,
          query: async (sql, parameters = []) => this.#run(sql, parameters),
        });
        this.#connection.exec("COMMIT");
        return result;
      } catch (error) {
        this.#rollBack();
        throw error;
      }
    });
  }

  async hold(name: string, lost: (why: string) => void): Promise<Hold | undefined> {
    const lock = lockFile(this.#file, name);
    return await told(lock, async () => {
      // A lock beside another file than the one that is open would keep nobody out.
      this.#see();
      makeEmpty(lock);
      const connection = openFile(lock, 0);
      try {
        if (!isLocked(connection)) {
          connection.close();
          return undefined;
        }
      } catch (error) {
        connection.close();
        throw error;
      }
      const held = { connection, opened: new OpenedFiles(lock), lost };
      this.#holds.add(held);
      return { release: async () => this.#release(held) };
    });
  }

  async isHeld(name: string): Promise<boolean> {
    const lock = lockFile(this.#file, name);
    return await told(lock, async () => {
      this.#see();
      if (!existsSync(lock)) return false;
      const connection = openFile(lock, 0);
      try {
        connection.exec("SELECT 1 FROM sqlite_master");
        return false;
      } catch (error) {
        if (isBusy(error)) return true;
        throw error;
      } finally {
        connection.close();
      }
    });
  }

  hurry(ms: number): void {
    this.#patience.hurry(ms);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#turns.onIdle();
    for (const held of this.#holds) this.#release(held);
    this.#statements.clear();
    this.#connection.close();
  }

  async #turn<T>(kind: "read" | "write", work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new JournalError(`${this.#file} was closed before this statement.`);
    return await told(this.#name, async () => await this.#turns.add(() => this.#patiently(kind, work)));
  }

  /** Does what has its turn, again where it failed in a way that may pass, without keeping this process from all else meanwhile. */
  async #patiently<T>(kind: "read" | "write", work: () => Promise<T>): Promise<T> {
    let toldAt: number | undefined;
    for (;;) {
      try {
        const result = await work();
        // What went to a file that nobody can find any more was not kept.
        this.#see();
        this.#failing[kind] = Number.NaN;
        if (toldAt !== undefined) this.#log(`The journal ${quote(this.#name, 500)} can be used again.`);
        return result;
      } catch (error) {
        this.#see();
        const patienceMs = patienceWith(error);
        const now = performance.now();
        const since = Number.isNaN(this.#failing[kind]) ? now : this.#failing[kind];
        if (patienceMs === 0) throw error;
        this.#failing[kind] = since;
        if (this.#patience.isOver(since, patienceMs)) throw error;
        if (toldAt === undefined && now - since >= TELL_MS) {
          toldAt = now;
          this.#log(
            `The journal ${quote(this.#name, 500)} can't be used now: ${reasonOf(error, this.#file)} It is waited for, ${patienceMs / 1_000} s at most.`,
          );
        }
        await sleep(RETRY_MS * (1 + Math.random()));
      }
    }
  }

  /** SQLite has rolled back by itself where the disk was full; where it can't, it does so when the file is opened again. */
  #rollBack(): void {
    try {
      if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
    } catch {}
  }

  /** @throws {JournalError} when the file is not the one any more that was opened. */
  #see(): void {
    const change = this.#opened.change;
    if (change !== undefined) {
      throw new JournalError(`The rollout's journal can't be used any more: ${change}`, { isGone: true });
    }
    for (const held of this.#holds) {
      const why = held.opened.change;
      if (why === undefined) continue;
      this.#release(held);
      held.lost(why);
    }
  }

  #run(sql: string, parameters: readonly SqlValue[]): Row[] {
    const { statement, names } = this.#prepared(sql);
    if (names.length !== parameters.length) {
      // SQLite would take what is missing for NULL.
      throw new TypeError(`${parameters.length} values for the ${names.length} parameters of: ${sql}`);
    }
    const values = Object.fromEntries(parameters.map((value, index) => [`$${index + 1}`, value]));
    return statement.all(values).map((row) => ({ ...row }) as Row);
  }

  #prepared(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    // SQLite prepares the first of several statements, and is silent about the rest.
    if (statement.sourceSQL.length < sql.trimEnd().length) {
      throw new TypeError(`One statement at a time, not: ${sql}`);
    }
    const prepared = { statement, names: [...new Set(sql.match(/\$\d+/g))] };
    if (this.#statements.size >= KEPT_STATEMENTS) this.#statements.clear();
    this.#statements.set(sql, prepared);
    return prepared;
  }

  #release(held: HeldFile): void {
    if (this.#holds.delete(held)) held.connection.close();
  }
}

interface Prepared {
  readonly statement: StatementSync;
  /** The names of its parameters, each once. */
  readonly names: readonly string[];
}

interface HeldFile {
  readonly connection: DatabaseSync;
  readonly opened: OpenedFiles;
  readonly lost: (why: string) => void;
}

/** Takes the lock of an empty file; false where another has it. */
function isLocked(connection: DatabaseSync): boolean {
  try {
    connection.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

/** Tries again while another process has the lock. */
async function whenFree(attempt: () => void): Promise<void> {
  const since = performance.now();
  for (;;) {
    try {
      attempt();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() - since >= patienceWith(error)) throw error;
      await sleep(RETRY_MS * (1 + Math.random()));
    }
  }
}
