import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { quote } from "../../model/text";
import { JournalError } from "./journal-error";

/** The files that SQLite keeps next to an open database. The three belong together. */
const SIDECAR_SUFFIXES = ["-wal", "-shm"];

/**
 * Opens an existing file. By default, SQLite would create a file that has just vanished.
 *
 * @param timeout how long to wait for its lock, in milliseconds. The wait blocks this process.
 */
export function openFile(file: string, timeout: number): DatabaseSync {
  // Loaded lazily, because older releases of Node.js warn that the module is experimental.
  const sqlite = process.getBuiltinModule("node:sqlite");
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "rw");
  return new sqlite.DatabaseSync(url, { timeout });
}

/**
 * Opens a file for reads only, even if SQLite can't create the files next to it. It takes no lock and keeps its index in memory,
 * so it is safe only if no one else can write either.
 */
export function openReadOnly(file: string): DatabaseSync {
  const sqlite = process.getBuiltinModule("node:sqlite");
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "ro");
  const hasLog = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  // SQLite ignores the log of an immutable file, and the log holds the last commits of a process that died.
  if (hasLog) url.searchParams.set("vfs", process.platform === "win32" ? "win32-none" : "unix-none");
  else url.searchParams.set("immutable", "1");
  const connection = new sqlite.DatabaseSync(url);
  connection.exec("PRAGMA locking_mode = EXCLUSIVE");
  return connection;
}

/**
 * Whether the database exists. Throws if there are signs that it existed before, so that the caller doesn't create
 * another.
 *
 * @throws {JournalError} if the file is empty, or a dangling link.
 */
export function databaseExists(file: string): boolean {
  if (isEmptyFile(file)) throw new JournalError(formatEmptyFileError(file));
  if (existsSync(file)) return true;
  const link = lstatSync(file, { throwIfNoEntry: false });
  if (link === undefined) return false;
  throw new JournalError(
    `${quote(file, 500)} can't be used as a rollout's journal: it is a link to ${quote(readlinkSync(file), 500)}, which doesn't exist. Restore the target, for example by mounting its disk; or remove the link to create a new journal.`,
  );
}

/**
 * Creates a database under a temporary name, then renames it, so that no one sees an incomplete one.
 *
 * @param fill fills the empty file and closes it. The caller ensures that no one else creates it at the same time.
 */
export async function createAtomically(file: string, fill: (file: string) => Promise<void>): Promise<void> {
  const temporaryFile = `${file}.new`;
  const remove = (): void => {
    // Left behind by a process that died.
    for (const suffix of ["", ...SIDECAR_SUFFIXES, "-journal"]) rmSync(`${temporaryFile}${suffix}`, { force: true });
  };
  remove();
  try {
    createEmptyFile(temporaryFile);
    await fill(temporaryFile);
    renameSync(temporaryFile, file);
  } catch (error) {
    remove();
    throw error;
  }
  syncDirectory(dirname(file));
}

/** Creates a file's directory, accessible only by this user. */
export function createParentDirectory(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
}

/**
 * Returns the file whose lock represents a name. Different names get different files, even on case-insensitive file
 * systems.
 */
export function getLockPath(file: string, name: string): string {
  const isPlain = /^[a-z0-9-]{1,60}$/.test(name);
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const hash = () => createHash("sha256").update(name).digest("hex").slice(0, 16);
  return `${file}.${isPlain ? name : `${slug.slice(0, 40)}.${hash()}`}.lock`;
}

/** The identity of files when they were opened. SQLite would continue to use a deleted or replaced file. */
export class OpenedFiles {
  readonly #file: string;
  readonly #identities = new Map<string, string>();
  readonly #wasEmpty: boolean;

  constructor(file: string) {
    this.#file = file;
    this.#wasEmpty = isEmptyFile(file);
    for (const suffix of ["", ...SIDECAR_SUFFIXES]) {
      const identity = getFileIdentity(`${file}${suffix}`);
      if (identity !== undefined) this.#identities.set(suffix, identity);
    }
  }

  /** How they changed since they were opened. Undefined if they didn't. */
  get change(): string | undefined {
    for (const [suffix, identity] of this.#identities) {
      const file = `${this.#file}${suffix}`;
      const currentIdentity = getFileIdentity(file);
      if (currentIdentity === undefined)
        return `${quote(file, 500)} is gone: it, or its directory, was deleted or moved while it was open.`;
      if (currentIdentity !== identity) return `${quote(file, 500)} was replaced while it was open.`;
    }
    if (this.#wasEmpty || !isEmptyFile(this.#file)) return undefined;
    return `${quote(this.#file, 500)} was truncated to zero bytes while it was open.`;
  }
}

function isEmptyFile(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.size === 0;
}

function getFileIdentity(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

function formatEmptyFileError(file: string): string {
  const problem = `${quote(file, 500)} can't be used as a rollout's journal: it is empty, and a valid journal never is. If there were rollouts, their records are lost, such as pending approvals.`;
  const walAdvice = existsSync(`${file}-wal`)
    ? ` Keep ${quote(`${file}-wal`, 500)} next to it: it contains the last changes.`
    : "";
  return `${problem} Restore a backup.${walAdvice} If there is no backup, remove the empty file to create a new journal.`;
}

/**
 * Creates an empty file that only this user may read. SQLite gives its additional files the same permissions. An existing file stays
 * untouched: opening and closing it would release the locks that this process holds on it.
 */
export function createEmptyFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Makes a rename survive a power failure. Ignores systems that can't sync directories. */
function syncDirectory(directory: string): void {
  try {
    const handle = openSync(directory, "r");
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {}
}
