import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, normalize, resolve, sep } from "node:path";
import { isOutside, repositoryOf } from "./repository";

/** No settings file is that large; four bytes a character at most. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads a plain file of at most so many bytes: nothing that waits for a writer, as a named pipe does, or has no end, as a
 * device does.
 *
 * @param maxBytes Default: as much as a settings file may have.
 * @throws {Error} that says why it can't be read, without anything of what it holds.
 */
export function readPlainFile(path: string, maxBytes = MAX_BYTES): Buffer {
  // To open a pipe can take for ever, and to open a device can do something.
  refuseUnlessPlain(statSync(path), maxBytes);
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    // It may be another one by now.
    const stat = fstatSync(file);
    refuseUnlessPlain(stat, maxBytes);
    // One byte more, since some files say that they are empty.
    let bytes = Buffer.allocUnsafe(stat.size + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      length += read;
      if (length > maxBytes) throw tooLarge(maxBytes);
      if (read === 0) return bytes.subarray(0, length);
      if (length === bytes.length) bytes = Buffer.concat([bytes], length * 2);
    }
  } finally {
    closeSync(file);
  }
}

function refuseUnlessPlain(stat: { isFile(): boolean; readonly size: number }, maxBytes: number): void {
  if (!stat.isFile()) throw new Error("it is no plain file");
  if (stat.size > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): Error {
  return new Error(`it has more than ${maxBytes} bytes`);
}

/** Tells of a path whether it leads out of where the files of a settings file may be, over links too. */
export function isBeyondRepositoryOf(file: string): (path: string) => boolean {
  const boundary = boundaryOf(file);
  return (path) => isOutside(boundary, realPath(resolve(path)));
}

/**
 * The folder in which a settings file and all that it includes have to be: the git repository that it is named in. A file or
 * folder that is a link is where it leads to, so what decides is the name and not the place. Where there is no repository,
 * it is the working folder, or the folder up to which its name leads (`..` of `../settings/acme.yaml`), or the file's own.
 */
function boundaryOf(file: string): string {
  const path = resolve(file);
  const here = process.cwd();
  const repository = repositoryOf(here);
  // A folder of the repository that is a link into another repository is still not reviewed in this one.
  if (repository !== undefined && !isOutside(repository, path)) return realPath(repository);
  return realPath(repositoryOf(dirname(path)) ?? namedFolder(file, here));
}

function namedFolder(file: string, here: string): string {
  const path = resolve(file);
  if (!isOutside(here, path)) return here;
  const steps = isAbsolute(file) ? [] : normalize(file).split(sep);
  const up = steps.findIndex((step) => step !== "..");
  return up > 0 ? resolve(here, ...steps.slice(0, up)) : dirname(path);
}

/** What a path leads to; of what is not there, as far as it is. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}
