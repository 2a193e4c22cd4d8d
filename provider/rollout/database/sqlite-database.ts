import { existsSync, realpathSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import PQueue from "p-queue";
import { quote } from "../../model/text";
import { explainUnwritableFile } from "../model/system-errors";
import { BusyTimeout } from "./busy-timeout";
import type { Database, DatabaseLock, Queryable, Row, SqlValue } from "./database";
import { JournalError } from "./journal-error";
import { explainSqliteError, getBusyTimeoutMs, isBusy, wrapSqliteErrors } from "./sqlite-errors";
import {
  createAtomically,
  createEmptyFile,
  createParentDirectory,
  databaseExists,
  getLockPath,
  OpenedFiles,
  openFile,
  openReadOnly,
} from "./sqlite-file";
import { createTables, readJournalVersion } from "./tables";

/** How long one attempt to lock SQLite may block this process, in milliseconds. Other work runs between attempts. */
const LOCK_BLOCK_MS = 50;
/** The shortest wait between two attempts, in milliseconds. Jitter at most doubles it. */
const RETRY_DELAY_MS = 25;
/** How long to wait before logging it, in milliseconds. */
const LOG_DELAY_MS = 2_000;
/** SQLite's name for a database without a file. */
const IN_MEMORY = ":memory:";
/** The maximum number of cached prepared statements. Their texts are constant except for parameter lists. */
const MAX_PREPARED_STATEMENTS = 200;

export interface SqliteOptions {
  readonly log?: (line: string) => void;
}

/**
 * Opens a SQLite file as a {@link Database} with the journal's tables. Creates the file and its directory if they are
 * missing, readable only by this user.
 *
 * Several processes on one machine may use it at once. A commit is on disk before the call returns. The file must be on
 * a local disk, because the locks of network file systems are unreliable.
 *
 * Waits up to two minutes for a lock of another process, and ten seconds for a full or failing disk. If the file is
 * deleted, replaced or emptied while open, the next statement fails.
 *
 * A {@link DatabaseLock} is the operating system's lock on an empty file next to it, `<file>.<name>.lock`. It ends with
 * the process, even after a crash, so it needs no renewal. It is lost only with that file. The empty file stays.
 *
 * A file that can't be written, as on a read-only or full disk, is opened for reads. Writes then fail.
 *
 * @throws {JournalError} `ERR_ROLLOUT_JOURNAL` if the file can't be created, is empty, or isn't a valid database or
 * journal. Each method throws it too.
 */
export async function openSqlite(file: string, { log = () => {} }: SqliteOptions = {}): Promise<Database> {
  return await wrapSqliteErrors(file, async () => {
    if (!databaseExists(file)) await createJournalFile(file);
    const database = await SqliteDatabase.connect(realpathSync(file), file, log);
    if ((await readJournalVersion(database)) !== undefined) return database;
    await database.close();
    throw new JournalError(
      `${quote(file, 500)} can't be used as a rollout's journal: it is a SQLite database without a journal. It was not changed. Specify another file, or a new one.`,
    );
  });
}

export async function openInMemory(): Promise<Database> {
  const database = SqliteDatabase.createInMemory();
  await createTables(database);
  return database;
}

/** Creates an empty journal. Of several concurrent processes, only one creates it. */
async function createJournalFile(file: string): Promise<void> {
  createParentDirectory(file);
  const lockPath = getLockPath(file, "new");
  createEmptyFile(lockPath);
  const lockConnection = openFile(lockPath, LOCK_BLOCK_MS);
  try {
    while (!tryLockExclusive(lockConnection)) await sleep(RETRY_DELAY_MS);
    if (databaseExists(file)) return;
    await createAtomically(file, async (temporaryFile) => {
      const database = await SqliteDatabase.connect(temporaryFile, file, () => {});
      try {
        await createTables(database);
      } finally {
        await database.close();
      }
    });
  } finally {
    lockConnection.close();
  }
}

class SqliteDatabase implements Database {
  readonly dialect = "sqlite";
  /** The path with all links resolved, and the path as given. */
  readonly #file: string;
  readonly #name: string;
  readonly #log: (line: string) => void;
  readonly #connection: DatabaseSync;
  readonly readOnlyReason: string | undefined;
  readonly #openedFiles: OpenedFiles;
  /** Serializes this process's statements and transactions, which share one connection. */
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #statements = new Map<string, PreparedStatement>();
  readonly #locks = new Set<LockedFile>();
  readonly #busyTimeout = new BusyTimeout();
  /** When reads and writes began to fail. The next operation doesn't repeat a wait that was unsuccessful. */
  readonly #failingSince = { read: Number.NaN, write: Number.NaN };
  #isClosed = false;

  private constructor(file: string, name: string, log: (line: string) => void, connection: DatabaseSync) {
    this.#file = file;
    this.#name = name;
    this.#log = log;
    this.#connection = connection;
    this.readOnlyReason = file === IN_MEMORY ? undefined : explainUnwritableFile(file);
    this.#openedFiles = new OpenedFiles(file);
  }

  static async connect(file: string, name: string, log: (line: string) => void): Promise<SqliteDatabase> {
    const connection = openFile(file, LOCK_BLOCK_MS);
    try {
      // This first read creates the files that SQLite keeps next to the database.
      await retryWhileBusy(() => connection.exec("PRAGMA journal_mode = WAL; SELECT 1 FROM sqlite_master"));
      connection.exec("PRAGMA synchronous = FULL");
      return new SqliteDatabase(file, name, log, connection);
    } catch (error) {
      connection.close();
      if (isBusy(error) || explainUnwritableFile(file) === undefined) throw error;
      return SqliteDatabase.#connectReadOnly(file, name, log, error);
    }
  }

  /** Opens a file for reads only, if a full or read-only disk has no room for SQLite's locks. */
  static #connectReadOnly(file: string, name: string, log: (line: string) => void, cause: unknown): SqliteDatabase {
    const connection = openReadOnly(file);
    try {
      connection.exec("SELECT 1 FROM sqlite_master");
      return new SqliteDatabase(file, name, log, connection);
    } catch {
      connection.close();
      throw cause;
    }
  }

  static createInMemory(): SqliteDatabase {
    const sqlite = process.getBuiltinModule("node:sqlite");
    return new SqliteDatabase(IN_MEMORY, IN_MEMORY, () => {}, new sqlite.DatabaseSync(IN_MEMORY));
  }

  async query(sql: string, parameters: readonly SqlValue[] = []): Promise<readonly Row[]> {
    const kind = /^\s*(select|pragma)\b/i.test(sql) ? "read" : "write";
    return await this.#enqueue(kind, async () => this.#run(sql, parameters));
  }

  async transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T> {
    return await this.#enqueue("write", async () => {
      // Taking the lock first means that no statement within can lose a race.
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

  async lock(name: string, onLost: (reason: string) => void): Promise<DatabaseLock | undefined> {
    const lockPath = getLockPath(this.#file, name);
    return await wrapSqliteErrors(lockPath, async () => {
      // A lock next to a replaced file would exclude no one.
      this.#assertFilesUnchanged();
      createEmptyFile(lockPath);
      const connection = openFile(lockPath, 0);
      try {
        if (!tryLockExclusive(connection)) {
          connection.close();
          return undefined;
        }
      } catch (error) {
        connection.close();
        throw error;
      }
      const lockedFile = { connection, openedFiles: new OpenedFiles(lockPath), onLost };
      this.#locks.add(lockedFile);
      return { release: async () => this.#release(lockedFile) };
    });
  }

  async isLocked(name: string): Promise<boolean> {
    const lockPath = getLockPath(this.#file, name);
    return await wrapSqliteErrors(lockPath, async () => {
      this.#assertFilesUnchanged();
      if (!existsSync(lockPath)) return false;
      const connection = openFile(lockPath, 0);
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

  shortenBusyTimeout(delayMs: number): void {
    this.#busyTimeout.shorten(delayMs);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#queue.onIdle();
    for (const lockedFile of this.#locks) this.#release(lockedFile);
    this.#statements.clear();
    this.#connection.close();
  }

  async #enqueue<T>(kind: "read" | "write", work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new JournalError(`${this.#file} was closed before this statement.`);
    return await wrapSqliteErrors(this.#name, async () => await this.#queue.add(() => this.#retry(kind, work)));
  }

  /** Runs queued work, and retries it after temporary failures without blocking the process. */
  async #retry<T>(kind: "read" | "write", work: () => Promise<T>): Promise<T> {
    let loggedAt: number | undefined;
    for (;;) {
      try {
        const result = await work();
        // A write to a file that was deleted or replaced is lost.
        this.#assertFilesUnchanged();
        this.#failingSince[kind] = Number.NaN;
        if (loggedAt !== undefined) this.#log(`The journal ${quote(this.#name, 500)} can be used again.`);
        return result;
      } catch (error) {
        this.#assertFilesUnchanged();
        const timeoutMs = getBusyTimeoutMs(error);
        const now = performance.now();
        const startedAt = Number.isNaN(this.#failingSince[kind]) ? now : this.#failingSince[kind];
        if (timeoutMs === 0) throw error;
        this.#failingSince[kind] = startedAt;
        if (this.#busyTimeout.isExceeded(startedAt, timeoutMs)) throw error;
        if (loggedAt === undefined && now - startedAt >= LOG_DELAY_MS) {
          loggedAt = now;
          this.#log(
            `The journal ${quote(this.#name, 500)} can't be used now: ${explainSqliteError(error, this.#file)} Waiting for up to ${timeoutMs / 1_000} s.`,
          );
        }
        await sleep(RETRY_DELAY_MS * (1 + Math.random()));
      }
    }
  }

  /** SQLite rolls back by itself on a full disk. If it can't, it does so when the file is next opened. */
  #rollBack(): void {
    try {
      if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
    } catch {}
  }

  /** @throws {JournalError} if the opened file was deleted or replaced. */
  #assertFilesUnchanged(): void {
    const change = this.#openedFiles.change;
    if (change !== undefined) {
      throw new JournalError(`The rollout's journal can no longer be used: ${change}`, { isFileLost: true });
    }
    for (const lockedFile of this.#locks) {
      const change = lockedFile.openedFiles.change;
      if (change === undefined) continue;
      this.#release(lockedFile);
      lockedFile.onLost(change);
    }
  }

  #run(sql: string, parameters: readonly SqlValue[]): Row[] {
    const { statement, parameterNames } = this.#prepare(sql);
    if (parameterNames.length !== parameters.length) {
      // SQLite would bind a missing value as NULL.
      throw new TypeError(`${parameters.length} values for the ${parameterNames.length} parameters of: ${sql}`);
    }
    const values = Object.fromEntries(parameters.map((value, index) => [`$${index + 1}`, value]));
    return statement.all(values).map((row) => ({ ...row }) as Row);
  }

  #prepare(sql: string): PreparedStatement {
    const cached = this.#statements.get(sql);
    if (cached !== undefined) return cached;
    const statement = this.#connection.prepare(sql);
    // SQLite prepares only the first of several statements and silently ignores the rest.
    if (statement.sourceSQL.length < sql.trimEnd().length) {
      throw new TypeError(`One statement at a time, not: ${sql}`);
    }
    const prepared = { statement, parameterNames: [...new Set(sql.match(/\$\d+/g))] };
    if (this.#statements.size >= MAX_PREPARED_STATEMENTS) this.#statements.clear();
    this.#statements.set(sql, prepared);
    return prepared;
  }

  #release(lockedFile: LockedFile): void {
    if (this.#locks.delete(lockedFile)) lockedFile.connection.close();
  }
}

interface PreparedStatement {
  readonly statement: StatementSync;
  readonly parameterNames: readonly string[];
}

interface LockedFile {
  readonly connection: DatabaseSync;
  readonly openedFiles: OpenedFiles;
  readonly onLost: (reason: string) => void;
}

/** Locks an empty file. Returns false if another process holds the lock. */
function tryLockExclusive(connection: DatabaseSync): boolean {
  try {
    connection.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

async function retryWhileBusy(attempt: () => void): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    try {
      attempt();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() - startedAt >= getBusyTimeoutMs(error)) throw error;
      await sleep(RETRY_DELAY_MS * (1 + Math.random()));
    }
  }
}
