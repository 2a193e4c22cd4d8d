import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync, renameSync, rmSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { SandboxError } from "../contract/errors";
import { isAutoDetectedVip } from "../contract/vip-detection";
import { APPLICATION_ID, migrations, SCHEMA_VERSION } from "./schema";

/**
 * Opens the sandbox's database: `file`, or an in-memory database if it is undefined. A new file is created under a
 * temporary name and then renamed, so a killed process leaves no half-seeded file behind.
 *
 * A commit reaches the write-ahead log before the response is sent, so killing the process loses no data. `synchronous`
 * NORMAL skips the disk flush, which only matters after a power failure.
 *
 * A file with an earlier schema version is migrated in one transaction.
 *
 * @throws SandboxError `ERR_SANDBOX_DATA_FILE` if the file isn't a sandbox file, comes from a later release, is in use,
 * or can't be opened. The file stays unchanged.
 */
export function openSandboxDatabase(file: string | undefined, seed: (database: DatabaseSync) => void): DatabaseSync {
  if (file === undefined) return createSandboxDatabase(":memory:", seed);
  try {
    if (!isSandboxFile(file)) createFile(file, seed);
    const database = connectSqlite(file);
    try {
      // Locked until the process ends: two sandboxes must not share a file.
      database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
      runTransaction(database, () => migrate(database));
    } catch (cause) {
      database.close();
      throw cause;
    }
    return database;
  } catch (cause) {
    if (cause instanceof SandboxError) throw cause;
    const isBusy = cause instanceof Error && cause.message.includes("database is locked");
    const reason = isBusy ? "another sandbox is using it" : (cause as Error).message;
    throw new SandboxError("ERR_SANDBOX_DATA_FILE", `The data file ${file} can't be opened: ${reason}.`, {
      cause,
    });
  }
}

/** Runs `callback` in one transaction that includes its audit rows, and rolls back on errors. */
export function runTransaction<Result>(database: DatabaseSync, callback: () => Result): Result {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = callback();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** Returns a function that prepares the statement on first use. */
export function prepareLazily(database: DatabaseSync, text: string): () => StatementSync {
  let statement: StatementSync | undefined;
  return () => {
    statement ??= database.prepare(text);
    return statement;
  };
}

export type QueryValues = SQLInputValue[] | [Record<string, SQLInputValue>];

export function queryAll<Row>(statement: StatementSync, ...values: QueryValues): Row[] {
  return statement.all(...(values as SQLInputValue[])).map((row) => ({ ...row }) as Row);
}

/** Returns the first row of a query as a plain object. */
export function queryFirst<Row>(statement: StatementSync, ...values: QueryValues): Row | undefined {
  const row = statement.get(...(values as SQLInputValue[]));
  return row && ({ ...row } as Row);
}

/**
 * Reports whether the file exists and belongs to a sandbox. It reads only the SQLite header (100 bytes: the magic,
 * `user_version` at 60, `application_id` at 68), so a foreign file is never opened as a database.
 */
function isSandboxFile(file: string): boolean {
  const header = Buffer.alloc(100);
  let length: number;
  try {
    const descriptor = openSync(file, "r");
    try {
      length = readSync(descriptor, header);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  const isSandboxDatabase =
    length === header.length &&
    header.toString("latin1", 0, 16) === "SQLite format 3\0" &&
    header.readUInt32BE(68) === APPLICATION_ID;
  if (!isSandboxDatabase) {
    throw new SandboxError(
      "ERR_SANDBOX_DATA_FILE",
      `The data file ${file} isn't a sandbox database, and was not changed. To create a new one, specify a file that doesn't exist yet.`,
    );
  }
  const version = header.readUInt32BE(60);
  if (version > SCHEMA_VERSION) {
    throw new SandboxError(
      "ERR_SANDBOX_DATA_FILE",
      `The data file ${file} has schema version ${version}, but this release reads versions up to ${SCHEMA_VERSION}. It was not changed. Start with another file.`,
    );
  }
  return true;
}

function createFile(file: string, seed: (database: DatabaseSync) => void): void {
  const draft = `${file}.${randomUUID()}.draft`;
  try {
    createSandboxDatabase(draft, seed).close();
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function createSandboxDatabase(file: string, seed: (database: DatabaseSync) => void): DatabaseSync {
  const database = connectSqlite(file);
  try {
    runTransaction(database, () => {
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      migrate(database);
      seed(database);
    });
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function migrate(database: DatabaseSync): void {
  const version = queryFirst<{ user_version: number }>(database.prepare("PRAGMA user_version"))?.user_version ?? 0;
  if (version === SCHEMA_VERSION) return;
  for (const step of migrations.slice(version)) database.exec(step);
  database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

function connectSqlite(file: string): DatabaseSync {
  // Loaded lazily: Node.js warns that the module is experimental, and only users of a sandbox should see that.
  const sqlite = process.getBuiltinModule("node:sqlite");
  const database = new sqlite.DatabaseSync(file, { enableForeignKeyConstraints: true, timeout: 0 });
  // SQLite's lower() supports ASCII only.
  database.function("fold", { deterministic: true }, (text) => String(text).toLowerCase());
  database.function("is_detected_vip", { deterministic: true }, (jobTitle, department) =>
    Number(isAutoDetectedVip(String(jobTitle), String(department))),
  );
  return database;
}
