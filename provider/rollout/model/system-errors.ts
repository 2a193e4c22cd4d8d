import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname, resolve } from "node:path";

const NO_ACCESS =
  "this user isn't allowed to write there. Use another path, or grant write permission to it and to its directory.";
const READ_ONLY = "the file system is read-only. Mount it for writing, or use a path on another file system.";
const DISK_FULL = "the disk is full. Free some space, then continue; committed data is kept.";
const NOT_A_DIRECTORY = "a part of its path isn't a directory. Use another path.";
const TOO_MANY_FILES =
  "too many files are open. Raise the limit (`ulimit -n`), or change fewer tenants at once (`--max-concurrent`).";
const DISK_FAILED =
  "the disk failed to read or write, or a limit of this process (`ulimit -f`) doesn't let the file grow. Check both; a copy of the file may still be readable.";

/** The cause of an operating system error about a file, and what to do: clauses that end a sentence. */
const REASONS_BY_CODE: ReadonlyMap<string, string> = new Map([
  ["EACCES", NO_ACCESS],
  ["EPERM", NO_ACCESS],
  ["EROFS", READ_ONLY],
  ["ENOSPC", DISK_FULL],
  ["EDQUOT", DISK_FULL],
  ["ENOTDIR", NOT_A_DIRECTORY],
  ["EEXIST", NOT_A_DIRECTORY],
  ["ENOENT", "it, or its directory, is missing. Restore it, or use another path."],
  ["EMFILE", TOO_MANY_FILES],
  ["ENFILE", TOO_MANY_FILES],
  ["EIO", DISK_FAILED],
  ["EFBIG", DISK_FAILED],
  ["ENAMETOOLONG", "its path is too long. Use a shorter path."],
  ["EINVAL", "the file system doesn't support a required operation. Use a path on a local disk."],
]);

const DEFAULT_REASON = "the operating system rejected it. Check the disk and its file system, or use another path.";

/** Returns the cause of an operating system error, and what to do. Undefined for other errors. */
export function explainSystemError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error)) return undefined;
  return REASONS_BY_CODE.get(String((error as NodeJS.ErrnoException).code)) ?? DEFAULT_REASON;
}

/** The minimum free space for the files that SQLite keeps next to a database, in bytes. */
const MIN_FREE_BYTES = 65_536;

/** Returns why a file on this machine can't be written or created, and what to do. Undefined if it can. */
export function explainUnwritableFile(file: string): string | undefined {
  try {
    if (existsSync(file)) accessSync(file, constants.W_OK);
    const directory = findNearestDirectory(file);
    accessSync(directory, constants.W_OK);
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize < MIN_FREE_BYTES ? DISK_FULL : undefined;
  } catch (error) {
    return explainSystemError(error);
  }
}

function findNearestDirectory(file: string): string {
  const directory = dirname(resolve(file));
  return existsSync(directory) ? directory : findNearestDirectory(directory);
}

export const STORAGE_REASONS = { NO_ACCESS, DISK_FULL, DISK_FAILED, TOO_MANY_FILES } as const;
