import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";

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
  assertRegularFile(statSync(path), maxBytes);
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    // It may be another one by now.
    const stat = fstatSync(file);
    assertRegularFile(stat, maxBytes);
    // One byte more, since some files say that they are empty.
    let bytes = Buffer.allocUnsafe(stat.size + 1);
    let length = 0;
    for (;;) {
      const bytesRead = readSync(file, bytes, length, bytes.length - length, null);
      length += bytesRead;
      if (length > maxBytes) throw buildTooLargeError(maxBytes);
      if (bytesRead === 0) return bytes.subarray(0, length);
      if (length === bytes.length) bytes = Buffer.concat([bytes], length * 2);
    }
  } finally {
    closeSync(file);
  }
}

function assertRegularFile(stat: { isFile(): boolean; readonly size: number }, maxBytes: number): void {
  if (!stat.isFile()) throw new Error("it is no plain file");
  if (stat.size > maxBytes) throw buildTooLargeError(maxBytes);
}

function buildTooLargeError(maxBytes: number): Error {
  return new Error(`it has more than ${maxBytes} bytes`);
}
