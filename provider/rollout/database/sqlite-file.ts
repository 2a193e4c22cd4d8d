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
import { quote } from "../../settings/text";
import { JournalError } from "./journal-error";

/** What SQLite keeps beside a file while it is open; the three belong together. */
const BESIDE = ["-wal", "-shm"];

/**
 * Opens a file that is there. SQLite would make another where it vanished a moment ago.
 *
 * @param timeout how long to wait for its lock, in milliseconds; this process does nothing else meanwhile.
 */
export function openFile(file: string, timeout: number): DatabaseSync {
  // Loaded on use: older releases of Node.js warn that the module is experimental.
  const sqlite = process.getBuiltinModule("node:sqlite");
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "rw");
  return new sqlite.DatabaseSync(url, { timeout });
}

/**
 * Opens a file for reads alone, also where SQLite can't make what it keeps beside it: it takes no lock, and keeps its index in
 * memory. So only where nobody else can write either.
 */
export function openUnlocked(file: string): DatabaseSync {
  const sqlite = process.getBuiltinModule("node:sqlite");
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "ro");
  const hasLog = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  // An immutable file is read without its log, which holds the last commits of a process that died.
  if (hasLog) url.searchParams.set("vfs", process.platform === "win32" ? "win32-none" : "unix-none");
  else url.searchParams.set("immutable", "1");
  const connection = new sqlite.DatabaseSync(url);
  connection.exec("PRAGMA locking_mode = EXCLUSIVE");
  return connection;
}

/**
 * Whether there is a database; none is made where something tells that there was one.
 *
 * @throws {JournalError} when the file is empty, or a link to nothing.
 */
export function isThere(file: string): boolean {
  if (isEmpty(file)) throw new JournalError(emptied(file));
  if (existsSync(file)) return true;
  const link = lstatSync(file, { throwIfNoEntry: false });
  if (link === undefined) return false;
  throw new JournalError(
    `${quote(file, 500)} can't be used as a rollout's journal: it is a link to ${quote(readlinkSync(file), 500)}, which is not there. Bring that back, as by mounting its disk; or remove the link, and a new journal is made.`,
  );
}

/**
 * Makes a database: whole under another name, and then under its own, so that nobody ever sees a part of one.
 *
 * @param fill puts into the empty file what is to be in it, and closes it. Nobody else makes one meanwhile.
 */
export async function makeWhole(file: string, fill: (file: string) => Promise<void>): Promise<void> {
  const part = `${file}.new`;
  const remove = (): void => {
    // One that died in the middle of it has left them.
    for (const end of ["", ...BESIDE, "-journal"]) rmSync(`${part}${end}`, { force: true });
  };
  remove();
  try {
    makeEmpty(part);
    await fill(part);
    renameSync(part, file);
  } catch (error) {
    remove();
    throw error;
  }
  syncFolder(dirname(file));
}

/** Makes the folder of a file, for this user alone. */
export function makeFolder(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
}

/** The file whose lock stands for a name. Different names have different files, on file systems too that don't tell case apart. */
export function lockFile(file: string, name: string): string {
  const isPlain = /^[a-z0-9-]{1,60}$/.test(name);
  const readable = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const hash = () => createHash("sha256").update(name).digest("hex").slice(0, 16);
  return `${file}.${isPlain ? name : `${readable.slice(0, 40)}.${hash()}`}.lock`;
}

/** Files as they were when they were opened. SQLite would go on with one that nobody can find any more. */
export class OpenedFiles {
  readonly #file: string;
  readonly #known = new Map<string, string>();
  readonly #mayBeEmpty: boolean;

  constructor(file: string) {
    this.#file = file;
    this.#mayBeEmpty = isEmpty(file);
    for (const end of ["", ...BESIDE]) {
      const identity = identityOf(`${file}${end}`);
      if (identity !== undefined) this.#known.set(end, identity);
    }
  }

  /** What has become of them, where they are not what was opened. */
  get change(): string | undefined {
    for (const [end, identity] of this.#known) {
      const file = `${this.#file}${end}`;
      const now = identityOf(file);
      if (now === undefined)
        return `${quote(file, 500)} is gone: it, or its folder, was deleted or moved while it was open.`;
      if (now !== identity)
        return `${quote(file, 500)} is another file now: it was replaced while it was open.`;
    }
    if (this.#mayBeEmpty || !isEmpty(this.#file)) return undefined;
    return `${quote(this.#file, 500)} is empty: it was emptied while it was open.`;
  }
}

function isEmpty(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size === 0;
}

function identityOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

function emptied(file: string): string {
  const told = `${quote(file, 500)} can't be used as a rollout's journal: it is empty, and this program leaves none so. If there were rollouts, what the journal knew of them is lost with it, such as the gates that wait for a person.`;
  const rest = existsSync(`${file}-wal`)
    ? ` Keep ${quote(`${file}-wal`, 500)} beside it: the last of it is there.`
    : "";
  return `${told} Bring back a copy of it.${rest} Or, if there is none to bring back, remove the empty file, and a new journal is made.`;
}

/**
 * Makes an empty file that only this user may read; SQLite gives what it puts beside it the same rights. One that is there is
 * not touched: to open and close it here would let go of the locks that this process has on it.
 */
export function makeEmpty(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** A name that was given is there after a power cut too; where folders can't be synced, that is the system's business. */
function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, "r");
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {}
}
