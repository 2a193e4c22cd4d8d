import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { EmailSecurityError } from "../settings/email-security-error";
import { printable, quote } from "../settings/text";

/**
 * Writes a file whole or not at all: beside it first, then in its place. Its mode stays; a link stays a link, and what
 * it points to is written.
 *
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) when the folder or the file can't be written; the file is as it was.
 */
export function writeSettings(path: string, text: string): void {
  let temporary: string | undefined;
  try {
    const target = realPath(path);
    temporary = beside(target);
    writeNew(temporary, text, modeOf(target));
    renameSync(temporary, target);
  } catch (error) {
    if (temporary !== undefined) rmSync(temporary, { force: true });
    throw notWritten(path, error);
  }
}

/**
 * Writes several files of one folder, which is made where it is missing: all of them, or none.
 *
 * @param files the text of each by its name.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) when one can't be written; all are as they were.
 */
export function writeFolder(folder: string, files: ReadonlyMap<string, string>): void {
  let made: string | undefined;
  try {
    made = mkdirSync(folder, { recursive: true });
    writeEach(new Map([...files].map(([name, text]) => [join(folder, name), text])));
  } catch (error) {
    if (made !== undefined) rmSync(made, { recursive: true, force: true });
    throw notWritten(folder, error);
  }
}

/**
 * Writes several files, wherever they are: all of them, or none. Each keeps its mode, and a link stays a link.
 *
 * @param files the text of each by its path; undefined takes it away.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_WRITE`) when one can't be written; all are as they were.
 */
export function writeAll(files: ReadonlyMap<string, string | undefined>): void {
  const made: string[] = [];
  try {
    for (const [path, text] of files) {
      const folder = text === undefined ? undefined : mkdirSync(dirname(path), { recursive: true });
      if (folder !== undefined) made.push(folder);
    }
    writeEach(files);
  } catch (error) {
    for (const folder of made.toReversed()) rmSync(folder, { recursive: true, force: true });
    throw notWritten([...files.keys()].join(", "), error);
  }
}

/** @throws {Error} when one can't be written; all are as they were. */
function writeEach(files: ReadonlyMap<string, string | undefined>): void {
  const steps: Step[] = [];
  try {
    for (const [path, text] of files) {
      // A link that is taken away is no file.
      const target = text === undefined ? path : realPath(path);
      const isGone = text === undefined;
      const step: Step = { target, temporary: beside(target), backup: beside(target), isGone, isDone: false };
      steps.push(step);
      if (text !== undefined) writeNew(step.temporary, text, modeOf(target));
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
  /** Whether the file is taken away. */
  readonly isGone: boolean;
  isDone: boolean;
}

function cleanUp(steps: readonly Step[]): void {
  for (const { temporary, backup } of steps) {
    rmSync(temporary, { force: true });
    rmSync(backup, { force: true });
  }
}

/** A name in the same folder that nobody else takes: a rename within a folder is one step. */
function beside(target: string): string {
  return join(dirname(target), `.${basename(target)}.${randomBytes(6).toString("hex")}.tmp`);
}

/** @param mode Default: for this user alone, since it holds what a tenant has; git keeps nothing of that. */
function writeNew(path: string, text: string, mode: number | undefined): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    if (mode !== undefined) fchmodSync(file, mode);
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

function modeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mode;
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
