import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";

/** The maximum size of a settings file, at up to four bytes per character. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads a regular file with a size limit. Rejects files that may block, such as named pipes, or never end, such as devices.
 *
 * @param maxBytes Default: the maximum of a settings file.
 * @throws {Error} which says why it can't be read, without its contents.
 */
export function readRegularFile(path: string, maxBytes = MAX_BYTES): Buffer {
  // Opening a pipe may block forever, and opening a device may have side effects.
  assertRegularFile(statSync(path), maxBytes);
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    // The file may have been replaced since the first check.
    const stat = fstatSync(file);
    assertRegularFile(stat, maxBytes);
    // One extra byte, because some files report a size of 0.
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
  if (!stat.isFile()) throw new Error("it isn't a regular file");
  if (stat.size > maxBytes) throw buildTooLargeError(maxBytes);
}

function buildTooLargeError(maxBytes: number): Error {
  return new Error(`it has more than ${maxBytes} bytes`);
}
