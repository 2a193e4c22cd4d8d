import { createHash } from "node:crypto";
import { tmpdir, userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { acquireLock, LockTimeout } from "../engine/lock";
import { EmailSecurityError } from "../model/email-security-error";
import { quote, sanitizeLine } from "../model/text";
import { openPrivateDirectory } from "../system/private-directory";
import { findFileRepository, findGitDirectory, resolveLinks } from "./repository";

export interface LockWaitOptions {
  /** Default: one minute. */
  readonly timeoutMs?: number;
  /** Called once if another process holds a lock, with its name: `process 4711`. */
  readonly onWait?: (holder: string) => void;
}

const TIMEOUT_MS = 60_000;
const POLL_MS = 50;

/**
 * Locks that prevent two processes from changing the same files between read and write. All files of a git repository, including its
 * working trees, share one lock; elsewhere, all files of a directory do.
 */
export class FileLocks implements Disposable {
  readonly #releases = new Map<string, () => void>();

  /**
   * Acquires the locks of files in a fixed order, which prevents deadlocks. Files may be missing or have several names.
   * Replaces the lock of a killed process.
   *
   * @throws {EmailSecurityError} (`ERR_SETTINGS_LOCKED`) if another process holds a lock for too long.
   */
  static async acquire(files: readonly string[], wait: LockWaitOptions = {}): Promise<FileLocks> {
    const locks = new FileLocks();
    await locks.add(files, wait);
    return locks;
  }

  /** Acquires the locks of more files, unless they are already held. */
  async add(files: readonly string[], { timeoutMs = TIMEOUT_MS, onWait }: LockWaitOptions = {}): Promise<void> {
    const filesByDirectory = new Map(files.map((file) => [findLockDirectory(file), file]));
    try {
      for (const [lockDirectory, file] of [...filesByDirectory].sort(([a], [b]) => (a < b ? -1 : 1))) {
        if (this.#releases.has(lockDirectory)) continue;
        this.#releases.set(
          lockDirectory,
          await acquireDirectoryLock(lockDirectory, file, { timeoutMs, ...(onWait && { onWait }) }),
        );
      }
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Releases the locks, which can be acquired again. */
  release(): void {
    for (const release of [...this.#releases.values()].reverse()) release();
    this.#releases.clear();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** Returns the directory that a file's lock belongs to: the shared git directory, otherwise the file's own directory. */
function findLockDirectory(file: string): string {
  const repository = findFileRepository(file);
  const gitDirectory = repository === undefined ? undefined : findGitDirectory(repository);
  return gitDirectory ?? dirname(resolveLinks(resolve(file)));
}

async function acquireDirectoryLock(
  lockDirectory: string,
  file: string,
  wait: Pick<LockWaitOptions, "onWait"> & { readonly timeoutMs: number },
): Promise<() => void> {
  const options = { ...wait, pollMs: POLL_MS };
  try {
    const repository = findFileRepository(file);
    if (repository !== undefined && findGitDirectory(repository) === lockDirectory) {
      try {
        return await acquireLock(join(lockDirectory, "email-security.lock"), options);
      } catch (error) {
        // The repository belongs to another user or is on a read-only disk.
        if (!isPermissionError(error)) throw error;
      }
    }
    return await acquireTemporaryLock(lockDirectory, options);
  } catch (error) {
    if (!(error instanceof LockTimeout)) throw error;
    throw new EmailSecurityError(
      "ERR_SETTINGS_LOCKED",
      `${quote(file, 300)} is locked by ${sanitizeLine(error.holder)}, which did not release it within ${Math.round(wait.timeoutMs / 1_000)} s. Nothing was written. Wait until that process has ended, or stop it, and run the command again.`,
      { cause: error },
    );
  }
}

/** Locks in this user's temporary directory leave no files next to the settings. */
async function acquireTemporaryLock(
  lockDirectory: string,
  options: Parameters<typeof acquireLock>[1],
): Promise<() => void> {
  const name = `email-security-locks-${process.getuid?.() ?? userInfo().username}`;
  const directory = openPrivateDirectory({ parent: tmpdir(), name });
  try {
    const key = createHash("sha256").update(lockDirectory).digest("hex").slice(0, 32);
    const release = await acquireLock(join(directory.path, `${key}.lock`), options);
    return () => {
      release();
      directory[Symbol.dispose]();
    };
  } catch (error) {
    directory[Symbol.dispose]();
    throw error;
  }
}

function isPermissionError(error: unknown): boolean {
  return ["EACCES", "EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "");
}
