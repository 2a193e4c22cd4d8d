import { randomBytes } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { EmailSecurityError } from "../../settings/email-security-error";
import { printable, quote } from "../../settings/text";

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

/** A name in the same folder that nobody else takes: a rename within a folder is one step. */
function beside(target: string): string {
  return join(dirname(target), `.${basename(target)}.${randomBytes(6).toString("hex")}.tmp`);
}

function writeNew(path: string, text: string, mode: number | undefined): void {
  const file = openSync(path, "wx");
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
