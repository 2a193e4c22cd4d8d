import { randomBytes } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { EmailSecurityError, getErrorMessage } from "../model/email-security-error";
import { quote, sanitizeLine } from "../model/text";

/**
 * Writes a file atomically, through a temporary file in the same directory. Keeps its mode and, if possible, its owner; writes to the
 * target of a symbolic link. Rejects read-only files, files with hard links, and read-only directories.
 *
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if the file or directory can't be written; the file is unchanged.
 */
export function writeSettings(path: string, text: string): void {
  try {
    replaceFile(path, text);
  } catch (error) {
    throw createSettingsWriteError(path, error);
  }
}

/**
 * Replaces any file like {@link writeSettings}. A new file is private to this user.
 *
 * @throws {Error} if the file or directory can't be written; the file is unchanged.
 */
export function replaceFile(path: string, text: string): void {
  writeFilesAtomically(new Map([[path, text]]));
}

/**
 * Writes all of several files in one directory, or none of them. Creates the directory if it is missing.
 *
 * @param files the texts by file name.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if one can't be written; all are unchanged.
 */
export function writeDirectoryFiles(directory: string, files: ReadonlyMap<string, string>): void {
  writeAll(directory, new Map([...files].map(([name, text]) => [join(directory, name), text])));
}

/**
 * Writes all of several files, or none of them. Keeps modes and symbolic links.
 *
 * @param files the texts by path; undefined removes the file.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if one can't be written; all are unchanged.
 */
export function writeFiles(files: ReadonlyMap<string, string | undefined>): void {
  writeAll([...files.keys()].join(", "), files);
}

function writeAll(name: string, files: ReadonlyMap<string, string | undefined>): void {
  const createdDirectories: string[] = [];
  try {
    for (const [path, text] of files) {
      if (text === undefined) continue;
      assertReplaceable(path);
      const directory = mkdirSync(dirname(path), { recursive: true });
      if (directory !== undefined) createdDirectories.push(directory);
    }
    writeFilesAtomically(files);
  } catch (error) {
    for (const directory of createdDirectories.toReversed()) rmSync(directory, { recursive: true, force: true });
    throw createSettingsWriteError(name, error);
  }
}

/** @throws {Error} if one can't be written; all are unchanged. */
function writeFilesAtomically(files: ReadonlyMap<string, string | undefined>): void {
  const writes: FileWrite[] = [];
  try {
    for (const [path, text] of files) {
      // Removing a link doesn't remove its target.
      const isRemoval = text === undefined;
      const target = isRemoval ? path : resolveExistingPath(path);
      const write: FileWrite = {
        target,
        temporary: getTemporaryPath(target),
        backup: getTemporaryPath(target),
        isRemoval,
        isDone: false,
      };
      writes.push(write);
      if (isRemoval) assertNotReadOnly(target);
      else assertTargetReplaceable(target);
      if (!isRemoval) writeNewFile(write.temporary, text, statSync(target, { throwIfNoEntry: false }));
      if (files.size > 1 && existsSync(target)) copyFileSync(target, write.backup, constants.COPYFILE_EXCL);
    }
    for (const write of writes) {
      if (write.isRemoval) rmSync(write.target, { force: true });
      else renameSync(write.temporary, write.target);
      write.isDone = true;
    }
  } catch (error) {
    for (const { target, backup, isDone } of writes.reverse()) {
      if (!isDone) continue;
      if (existsSync(backup)) renameSync(backup, target);
      else rmSync(target, { force: true });
    }
    throw error;
  } finally {
    for (const { temporary, backup } of writes) for (const file of [temporary, backup]) rmSync(file, { force: true });
  }
}

interface FileWrite {
  readonly target: string;
  readonly temporary: string;
  readonly backup: string;
  readonly isRemoval: boolean;
  isDone: boolean;
}

/** Returns a unique name in the same directory, where a rename is atomic. */
function getTemporaryPath(target: string): string {
  return join(dirname(target), `.${basename(target)}.${randomBytes(6).toString("hex")}.tmp`);
}

/**
 * @param original the file whose mode and owner are kept. Default: private to this user, because it contains tenant data; git ignores these
 * modes.
 */
function writeNewFile(path: string, text: string, original: Stats | undefined): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    if (original !== undefined) {
      copyOwner(file, original);
      fchmodSync(file, original.mode);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function resolveExistingPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isNotFoundError(error)) return path;
    throw error;
  }
}

/** Sets owner and group if possible. Only root can change the owner; others can only set a group that they belong to. */
function copyOwner(file: number, { uid, gid }: Stats): void {
  for (const owner of [uid, -1]) {
    try {
      fchownSync(file, owner, gid);
      return;
    } catch {
      // The file keeps the user who writes it.
    }
  }
}

/**
 * Asserts that a file can be replaced. A rename ignores the file's mode, and root bypasses all modes.
 *
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if the file or its directory is read-only, or if the file has hard links.
 */
export function assertWritable(path: string): void {
  try {
    assertReplaceable(path);
  } catch (error) {
    throw createSettingsWriteError(path, error);
  }
}

/** @throws {Error} if {@link replaceFile} would reject the file. */
export function assertReplaceable(path: string): void {
  assertTargetReplaceable(resolveExistingPath(path));
}

function assertTargetReplaceable(target: string): void {
  assertNotReadOnly(target);
  const stat = statSync(target, { throwIfNoEntry: false });
  // The rename replaces one name of the file. The others would keep the former content.
  if (stat === undefined || !stat.isFile() || stat.nlink < 2) return;
  const namesText = stat.nlink === 2 ? "another name (hard link)" : `${stat.nlink - 1} other names (hard links)`;
  throw new Error(
    `the file ${quote(target, 300)} has ${namesText}, which would keep the former content. Find all names with \`find . -samefile FILE\`. To change only this one, separate it first: \`cp -p FILE FILE.copy && mv FILE.copy FILE\``,
  );
}

function assertNotReadOnly(target: string): void {
  const stat = statSync(target, { throwIfNoEntry: false });
  if (stat !== undefined) assertWritableMode(target, stat);
  if (stat?.isDirectory()) return;
  let directory = dirname(target);
  // A missing directory is created in the nearest existing one.
  while (!existsSync(directory) && dirname(directory) !== directory) directory = dirname(directory);
  const parent = statSync(directory, { throwIfNoEntry: false });
  if (parent?.isDirectory()) assertWritableMode(directory, parent);
}

function assertWritableMode(path: string, stat: Stats): void {
  const kind = stat.isDirectory() ? "directory" : "file";
  const isRoot = process.getuid?.() === 0;
  try {
    accessSync(path, constants.W_OK);
    if (!isRoot || (stat.mode & constants.S_IWUSR) !== 0) return;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EPERM") throw error;
  }
  const mode = (stat.mode & 0o7777).toString(8).padStart(4, "0");
  throw new Error(
    `the ${kind} ${quote(path, 300)} is read-only (mode ${mode}); if the change is intended, make it writable first, for example with \`chmod u+w\``,
  );
}

function isNotFoundError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

function createSettingsWriteError(path: string, error: unknown): EmailSecurityError {
  const reason = getErrorMessage(error);
  return new EmailSecurityError(
    "ERR_SETTINGS_WRITE",
    `${quote(path, 300)} can't be written: ${sanitizeLine(reason)}. It is unchanged`,
    { cause: error },
  );
}
