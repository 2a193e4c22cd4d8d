const NO_ACCESS =
  "this user may not write there. Give another place, or the rights to that one and to its folder.";
const DISK_FULL = "the disk is full. Make room there, then go on; what was committed is kept.";
const NO_FOLDER = "a part of its path is no folder. Give another place.";
const TOO_MANY_FILES =
  "too many files are open. Raise the limit (`ulimit -n`), or change fewer tenants at once (`--max-concurrent`).";
const DISK_FAILED =
  "the disk failed to read or write, or a limit of this process (`ulimit -f`) does not let the file grow. Look at both; a copy of the file may still be read.";

/** What is behind an error of the operating system about a file, and what to do: clauses that end a sentence. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["EACCES", NO_ACCESS],
  ["EPERM", NO_ACCESS],
  ["EROFS", NO_ACCESS],
  ["ENOSPC", DISK_FULL],
  ["EDQUOT", DISK_FULL],
  ["ENOTDIR", NO_FOLDER],
  ["EEXIST", NO_FOLDER],
  ["ENOENT", "it, or its folder, is not there. Give another place, or bring it back."],
  ["EMFILE", TOO_MANY_FILES],
  ["ENFILE", TOO_MANY_FILES],
  ["EIO", DISK_FAILED],
  ["EFBIG", DISK_FAILED],
  ["ENAMETOOLONG", "its path is too long. Give a shorter one."],
  ["EINVAL", "the file system can't do what is needed. Give a place on a disk of this machine."],
]);

const OTHERWISE =
  "the operating system refused it. Look at the disk and its file system, or give another place.";

/** Why an error of the operating system came, and what to do; undefined where it is none. */
export function systemReason(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error)) return undefined;
  return REASONS.get(String((error as NodeJS.ErrnoException).code)) ?? OTHERWISE;
}

/** What SQLite says of the same, by other codes. */
export const STORAGE_REASONS = { NO_ACCESS, DISK_FULL, DISK_FAILED, TOO_MANY_FILES } as const;
