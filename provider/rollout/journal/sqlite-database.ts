import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import PQueue from "p-queue";
import { quote } from "../../settings/text";
import type { Database, Hold, Queryable, Row, SqlValue } from "./database";
import { JournalError } from "./journal-error";

/** How long one attempt to get SQLite's lock may block this process, in milliseconds; others have their turn between two. */
const BLOCK_MS = 50;
/** How many such attempts are made: together with the waits between them, at least half a minute. */
const ATTEMPTS = 400;
/** The wait between two attempts, in milliseconds, and up to twice as long. */
const RETRY_MS = 25;
/** How many statements are kept prepared. Their texts are constants, but for lists of parameters. */
const KEPT_STATEMENTS = 200;

/**
 * Opens a SQLite file as a {@link Database}, and makes it, and its folder, where there is none; only this user may read it.
 *
 * Several processes of one machine may use it at once. A commit is on the disk before it is answered. The file belongs on
 * a disk of this machine: the locks of network file systems can't be relied on.
 *
 * A name is held by the operating system's lock on an empty file beside it, `<file>.<name>.lock`. It ends with the process,
 * however that ends, so nothing has to be renewed and nothing is ever lost; the empty file stays.
 *
 * @throws {JournalError} `ERR_ROLLOUT_JOURNAL` when the file can't be made, is no database, is read-only, or the disk is
 * full; from each method too.
 */
export async function openSqlite(file: string): Promise<Database> {
  const connection = await told(file, async () => await connect(file));
  return new SqliteDatabase(file, connection);
}

class SqliteDatabase implements Database {
  readonly dialect = "sqlite";
  readonly #file: string;
  readonly #connection: DatabaseSync;
  /** Statements and transactions of this process, one after the other: they share one connection. */
  readonly #turns = new PQueue({ concurrency: 1 });
  readonly #statements = new Map<string, Prepared>();
  readonly #holds = new Set<DatabaseSync>();
  #isClosed = false;

  constructor(file: string, connection: DatabaseSync) {
    this.#file = file;
    this.#connection = connection;
  }

  async query(sql: string, parameters: readonly SqlValue[] = []): Promise<readonly Row[]> {
    return await this.#turn(async () => await patiently(() => this.#run(sql, parameters)));
  }

  async transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T> {
    return await this.#turn(async () => {
      // The lock is taken first, so that nothing within can lose a race, and the work is done once.
      await patiently(() => this.#connection.exec("BEGIN IMMEDIATE"));
      try {
        const result = await work({
          dialect: this.dialect,
          query: async (sql, parameters = []) => this.#run(sql, parameters),
        });
        this.#connection.exec("COMMIT");
        return result;
      } catch (error) {
        // SQLite has rolled back by itself where the disk was full.
        if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
        throw error;
      }
    });
  }

  async hold(name: string): Promise<Hold | undefined> {
    const lock = lockFile(this.#file, name);
    return await told(lock, async () => {
      const connection = open(lock, 0);
      try {
        connection.exec("BEGIN EXCLUSIVE");
      } catch (error) {
        connection.close();
        if (isBusy(error)) return undefined;
        throw error;
      }
      this.#holds.add(connection);
      return { release: async () => this.#release(connection) };
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#turns.onIdle();
    for (const hold of this.#holds) this.#release(hold);
    this.#statements.clear();
    this.#connection.close();
  }

  async #turn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new JournalError(`${this.#file} was closed before this statement.`);
    return await told(this.#file, async () => await this.#turns.add(work));
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

  #release(hold: DatabaseSync): void {
    if (this.#holds.delete(hold)) hold.close();
  }
}

interface Prepared {
  readonly statement: StatementSync;
  /** The names of its parameters, each once. */
  readonly names: readonly string[];
}

async function connect(file: string): Promise<DatabaseSync> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const connection = open(file, BLOCK_MS);
  try {
    await patiently(() => connection.exec("PRAGMA journal_mode = WAL"));
    connection.exec("PRAGMA synchronous = FULL");
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function open(file: string, timeout: number): DatabaseSync {
  createPrivate(file);
  // Loaded on use: older releases of Node.js warn that the module is experimental.
  const sqlite = process.getBuiltinModule("node:sqlite");
  return new sqlite.DatabaseSync(file, { timeout });
}

/**
 * Makes an empty file that only this user may read; SQLite gives what it puts beside it the same rights. One that is there is
 * not touched: to open and close it here would let go of the locks that this process has on it.
 */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Different names have different files, on file systems too that don't tell case apart. */
function lockFile(file: string, name: string): string {
  const isPlain = /^[a-z0-9-]{1,60}$/.test(name);
  const readable = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const hash = () => createHash("sha256").update(name).digest("hex").slice(0, 16);
  return `${file}.${isPlain ? name : `${readable.slice(0, 40)}.${hash()}`}.lock`;
}

/** Tries again while another process writes, without keeping this one from all else meanwhile. */
async function patiently<T>(attempt: () => T): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || attempts === ATTEMPTS) throw error;
      await sleep(RETRY_MS * (1 + Math.random()));
    }
  }
}

function isBusy(error: unknown): boolean {
  return resultCode(error) === BUSY;
}

/** Makes errors of the file into those that say what to do; what is wrong with a statement stays as it is. */
async function told<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = resultCode(error) ?? systemCode(error);
    const reason = code === undefined ? undefined : REASONS.get(code);
    if (reason === undefined) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw new JournalError(`${quote(file, 500)} can't be used as a rollout's journal: ${reason} (${said})`, {
      cause: error,
    });
  }
}

/** SQLite's result code without the details that it may carry in its upper bits. */
function resultCode(error: unknown): number | undefined {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}

function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "syscall" in error ? (error as NodeJS.ErrnoException).code : undefined;
}

const BUSY = 5;

const NO_ACCESS =
  "this user may not write there. Give another file, or the rights to that one and to its folder.";
const DISK_FULL = "the disk is full. Make room there, then go on; what was committed is kept.";
const NO_FOLDER = "a part of its path is no folder. Give another file.";

/** By SQLite's result code, or the operating system's. */
const REASONS: ReadonlyMap<number | string, string> = new Map<number | string, string>([
  [3, NO_ACCESS],
  [
    BUSY,
    "another process has kept it locked for half a minute. Look for one that hangs, and end it; then go on.",
  ],
  [8, NO_ACCESS],
  [10, "the disk failed to read or write. Look at the disk; a copy of the file may still be read."],
  [11, "the file is damaged. Bring back a copy of it, or begin a new rollout with another file."],
  [13, DISK_FULL],
  [14, `it can't be opened. Is it a file, and may this user write to it and to its folder?`],
  [
    26,
    "the file is no SQLite database; it was left as it is. Give the name of another, or of one to be made.",
  ],
  ["EACCES", NO_ACCESS],
  ["EPERM", NO_ACCESS],
  ["EROFS", NO_ACCESS],
  ["ENOSPC", DISK_FULL],
  ["EDQUOT", DISK_FULL],
  ["ENOTDIR", NO_FOLDER],
  ["EEXIST", NO_FOLDER],
]);
