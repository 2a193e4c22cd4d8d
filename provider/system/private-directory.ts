import { closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";

export interface DirectoryLocation {
  /** The containing directory: the user's own, or a shared one such as that for temporary files. */
  readonly parent: string;
  readonly name: string;
}

/** An open directory, which stays the same one even if its name is replaced. */
export interface PrivateDirectory extends Disposable {
  readonly path: string;
}

/**
 * Opens a directory that only this user can enter, and creates it if it is missing. Rejects a link, another user's directory,
 * and one that others can write to, since somebody else may have created it first.
 *
 * @throws {Error} if it can't be opened safely.
 */
export function openPrivateDirectory({ parent, name }: DirectoryLocation): PrivateDirectory {
  const path = join(parent, name);
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  assertTrustedOwner(statSync(parent), parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  if (process.platform === "win32") return { path, [Symbol.dispose]: () => {} };
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const close = (): void => closeSync(descriptor);
  if (!isPrivateDirectory(fstatSync(descriptor))) {
    close();
    throw new Error(`${path} isn't private to this user`);
  }
  // On Linux, this path refers to the verified directory even if its name is replaced.
  const descriptorPath = `/proc/self/fd/${descriptor}`;
  return { path: existsSync(descriptorPath) ? descriptorPath : path, [Symbol.dispose]: close };
}

/** Returns whether this is a directory, not a link, that belongs to this user and that nobody else can enter. */
export function isPrivateDirectory(stat: Stats): boolean {
  if (!stat.isDirectory()) return false;
  return process.getuid === undefined || (stat.uid === process.getuid() && (stat.mode & 0o077) === 0);
}

/**
 * Another user could replace the contents of their own directory. A shared one, such as that for temporary files, is
 * safe, because each user has a directory of their own in it.
 */
function assertTrustedOwner(stat: Stats, path: string): void {
  if (process.getuid === undefined) return;
  const isWorldWritable = (stat.mode & 0o002) !== 0;
  const isTrusted = stat.uid === process.getuid() || stat.uid === 0 || isWorldWritable;
  if (!isTrusted) throw new Error(`${path} belongs to another user`);
}
