import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
} from "node:fs";
import { join } from "node:path";

/** Where a folder is to be that only this user may enter. */
export interface FolderPlace {
  /** What it is in: the user's own, or one for all such as that of temporary files. */
  readonly parent: string;
  readonly name: string;
}

/** A folder that is open, so that it stays the same one whatever happens to its name. */
export interface OwnFolder extends Disposable {
  /** For what is done in it. */
  readonly path: string;
}

/**
 * Opens a folder that only this user may enter, and makes it where it is missing. Others may have been there first: a link, another
 * user's folder, or one that others may write to, is refused.
 *
 * @throws {Error} when it can't be had.
 */
export function openOwnFolder({ parent, name }: FolderPlace): OwnFolder {
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
  if (!isOwn(fstatSync(descriptor))) {
    close();
    throw new Error(`${path} is not this user's alone`);
  }
  // By its number it is the folder that was looked at, on Linux, whatever becomes of its name.
  const descriptorPath = `/proc/self/fd/${descriptor}`;
  return { path: existsSync(descriptorPath) ? descriptorPath : path, [Symbol.dispose]: close };
}

/** Whether a folder itself, and no link to one, is this user's, and nobody else may enter it. */
export function isOwn(stat: Stats): boolean {
  if (!stat.isDirectory()) return false;
  return process.getuid === undefined || (stat.uid === process.getuid() && (stat.mode & 0o077) === 0);
}

/** A folder that is another user's may be changed below: only that for all users, in which each has his own, is not. */
function assertTrustedOwner(stat: Stats, path: string): void {
  if (process.getuid === undefined) return;
  const isWorldWritable = (stat.mode & 0o002) !== 0;
  const isTrusted = stat.uid === process.getuid() || stat.uid === 0 || isWorldWritable;
  if (!isTrusted) throw new Error(`${path} is another user's`);
}
