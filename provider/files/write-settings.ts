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
import { EmailSecurityError } from "../settings/email-security-error";
import { printable, quote } from "../settings/text";

/**
 * Writes a file atomically, through a temporary file in the same directory. Keeps its mode and, if possible, its owner; writes to the
 * target of a link. Leaves read-only files and directories unchanged.
 *
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if the file or directory can't be written; the file is unchanged.
 */
export function writeSettings(path: string, text: string): void {
  try {
    replaceFile(path, text);
  } catch (error) {
    throw notWritten(path, error);
  }
}

/**
 * Replaces any file like {@link writeSettings}. A new file is private to this user.
 *
 * @throws {Error} if the file or directory can't be written; the file is unchanged.
 */
export function replaceFile(path: string, text: string): void {
  let temporary: string | undefined;
  try {
    const target = realPath(path);
    assertNotReadOnly(target);
    temporary = beside(target);
    writeNew(temporary, text, statSync(target, { throwIfNoEntry: false }));
    renameSync(temporary, target);
  } catch (error) {
    if (temporary !== undefined) rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Writes several files of one directory, or none. Creates a missing directory.
 *
 * @param files the texts by file name.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if one can't be written; all are unchanged.
 */
export function writeFolder(folder: string, files: ReadonlyMap<string, string>): void {
  let made: string | undefined;
  try {
    assertNotReadOnly(folder);
    made = mkdirSync(folder, { recursive: true });
    writeEach(new Map([...files].map(([name, text]) => [join(folder, name), text])));
  } catch (error) {
    if (made !== undefined) rmSync(made, { recursive: true, force: true });
    throw notWritten(folder, error);
  }
}

/**
 * Writes several files in any directory, or none. Keeps modes and links.
 *
 * @param files the texts by path; undefined removes the file.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if one can't be written; all are unchanged.
 */
export function writeAll(files: ReadonlyMap<string, string | undefined>): void {
  const made: string[] = [];
  try {
    for (const [path, text] of files) {
      assertNotReadOnly(text === undefined ? path : realPath(path));
      const folder = text === undefined ? undefined : mkdirSync(dirname(path), { recursive: true });
      if (folder !== undefined) made.push(folder);
    }
    writeEach(files);
  } catch (error) {
    for (const folder of made.toReversed()) rmSync(folder, { recursive: true, force: true });
    throw notWritten([...files.keys()].join(", "), error);
  }
}

/** @throws {Error} if one can't be written; all are unchanged. */
function writeEach(files: ReadonlyMap<string, string | undefined>): void {
  const steps: Step[] = [];
  try {
    for (const [path, text] of files) {
      // Removing a link doesn't remove its target.
      const target = text === undefined ? path : realPath(path);
      const isGone = text === undefined;
      const step: Step = { target, temporary: beside(target), backup: beside(target), isGone, isDone: false };
      steps.push(step);
      assertNotReadOnly(target);
      if (text !== undefined) writeNew(step.temporary, text, statSync(target, { throwIfNoEntry: false }));
      if (existsSync(target)) copyFileSync(target, step.backup, constants.COPYFILE_EXCL);
    }
    for (const step of steps) {
      if (step.isGone) rmSync(step.target, { force: true });
      else renameSync(step.temporary, step.target);
      step.isDone = true;
    }
  } catch (error) {
    for (const { target, backup, isDone } of steps.reverse()) {
      if (!isDone) continue;
      if (existsSync(backup)) renameSync(backup, target);
      else rmSync(target, { force: true });
    }
    throw error;
  } finally {
    cleanUp(steps);
  }
}

interface Step {
  readonly target: string;
  readonly temporary: string;
  readonly backup: string;
  readonly isGone: boolean;
  isDone: boolean;
}

function cleanUp(steps: readonly Step[]): void {
  for (const { temporary, backup } of steps) {
    rmSync(temporary, { force: true });
    rmSync(backup, { force: true });
  }
}

/** Returns a unique name in the same directory, where a rename is atomic. */
function beside(target: string): string {
  return join(dirname(target), `.${basename(target)}.${randomBytes(6).toString("hex")}.tmp`);
}

/**
 * @param replaced the file whose mode and owner are kept. Default: private to this user, because it contains tenant data; git ignores these
 * modes.
 */
function writeNew(path: string, text: string, replaced: Stats | undefined): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    if (replaced !== undefined) {
      keepOwner(file, replaced);
      fchmodSync(file, replaced.mode);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isMissing(error)) return path;
    throw error;
  }
}

/** Only root may change the owner; the group may be one of the user's own. */
function keepOwner(file: number, { uid, gid }: Stats): void {
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
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) if the file or its directory is read-only.
 */
export function assertWritable(path: string): void {
  try {
    assertReplaceable(path);
  } catch (error) {
    throw notWritten(path, error);
  }
}

/** @throws {Error} if {@link replaceFile} would leave the file unchanged. */
export function assertReplaceable(path: string): void {
  assertNotReadOnly(realPath(path));
}

function assertNotReadOnly(target: string): void {
  const stat = statSync(target, { throwIfNoEntry: false });
  if (stat !== undefined) assertMode(target, stat);
  if (stat?.isDirectory()) return;
  let directory = dirname(target);
  // A missing directory is created in the nearest existing one.
  while (!existsSync(directory) && dirname(directory) !== directory) directory = dirname(directory);
  const parent = statSync(directory, { throwIfNoEntry: false });
  if (parent?.isDirectory()) assertMode(directory, parent);
}

function assertMode(path: string, stat: Stats): void {
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
    `the ${kind} ${quote(path, 300)} is read-only (mode ${mode}); if the change is meant, make it writable first, for example with \`chmod u+w\``,
  );
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

function notWritten(path: string, error: unknown): EmailSecurityError {
  const why = error instanceof Error ? error.message : String(error);
  return new EmailSecurityError(
    "ERR_SETTINGS_WRITE",
    `${quote(path, 300)} can't be written, and is as it was: ${printable(why)}`,
    { cause: error },
  );
}
