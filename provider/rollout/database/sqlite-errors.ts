import { getErrorMessage } from "../../model/email-security-error";
import { quote } from "../../model/text";
import { explainSystemError, explainUnwritableFile, STORAGE_REASONS } from "../model/system-errors";
import { JournalError } from "./journal-error";

/** Converts errors of a file to ones that say what to do. Our own errors pass unchanged. */
export async function wrapSqliteErrors<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = explainSqliteError(error, file);
    if (reason === undefined) throw error;
    const message = getErrorMessage(error);
    throw new JournalError(`${quote(file, 500)} can't be used as a rollout's journal: ${reason} (${message})`, {
      cause: error,
    });
  }
}

/**
 * Returns why a file can't be used, and what to do. Undefined for an unrelated error.
 *
 * @param file examined if SQLite's code has several causes: it reports a full disk as an I/O error.
 */
export function explainSqliteError(error: unknown, file?: string): string | undefined {
  const code = getSqliteCode(error);
  if (code === undefined) return explainSystemError(error);
  const storageReason = file === undefined || !STORAGE_CODES.has(code) ? undefined : explainUnwritableFile(file);
  return storageReason ?? REASONS_BY_CODE.get(code) ?? DEFAULT_REASON;
}

export function isBusy(error: unknown): boolean {
  return getSqliteCode(error) === BUSY;
}

/** Returns how long to wait for an error to pass, in milliseconds. 0 for a permanent error. */
export function getBusyTimeoutMs(error: unknown): number {
  const code = getSqliteCode(error);
  if (code === BUSY || code === LOCKED) return LOCK_TIMEOUT_MS;
  const isTransient =
    code === undefined ? /^(ENOSPC|EDQUOT|EMFILE|ENFILE|EIO)$/.test(getErrno(error)) : TRANSIENT_CODES.has(code);
  return isTransient ? TRANSIENT_TIMEOUT_MS : 0;
}

/** A lock ends with its holder, such as a backup or a person's query. */
const LOCK_TIMEOUT_MS = 120_000;
/** Other temporary errors either pass quickly or need a person. */
const TRANSIENT_TIMEOUT_MS = 10_000;

/** SQLite's result code without the extended code in its upper bits. */
function getSqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}

function getErrno(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

const [BUSY, LOCKED, NO_MEMORY, READ_ONLY, IO_ERROR, FULL, CANT_OPEN, PROTOCOL] = [5, 6, 7, 8, 10, 13, 14, 15];
const STORAGE_CODES: ReadonlySet<number> = new Set([READ_ONLY, IO_ERROR, CANT_OPEN]);
const TRANSIENT_CODES: ReadonlySet<number> = new Set([NO_MEMORY, IO_ERROR, FULL, CANT_OPEN, PROTOCOL]);

const { NO_ACCESS, DISK_FULL, DISK_FAILED } = STORAGE_REASONS;
const LOCKED_REASON = "another process has locked it. Find and end a process that hangs, then continue.";
const DAMAGED_REASON =
  "it is damaged, or something else changed it. Restore a backup, or start a new rollout with another file.";

const REASONS_BY_CODE: ReadonlyMap<number, string> = new Map([
  [1, DAMAGED_REASON],
  [3, NO_ACCESS],
  [BUSY, LOCKED_REASON],
  [LOCKED, LOCKED_REASON],
  [NO_MEMORY, "this machine is out of memory. Change fewer tenants at once (`--max-concurrent`), then continue."],
  [READ_ONLY, NO_ACCESS],
  [IO_ERROR, DISK_FAILED],
  [11, "the file is damaged. Restore a backup, or start a new rollout with another file."],
  [FULL, DISK_FULL],
  [CANT_OPEN, "it can't be opened. Check that it is a file, and that this user can write to it and to its directory."],
  [PROTOCOL, "its locks are unreliable. Use a file on a local disk, not on a network file system."],
  [17, DAMAGED_REASON],
  [19, DAMAGED_REASON],
  [20, DAMAGED_REASON],
  [22, "the file system doesn't support files of this size. Use another file system."],
  [26, "the file isn't a SQLite database. It was not changed. Specify another file, or a new one."],
]);

const DEFAULT_REASON = "SQLite rejected it. Check the file and its disk, or start a new rollout with another file.";
