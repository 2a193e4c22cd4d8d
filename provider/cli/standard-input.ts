import { readSync } from "node:fs";
import { ConfigurationError } from "../client";

/** More values than any report of indicators has. */
export const MAX_INPUT_VALUES = 50_000;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads a list of values from standard input, one per line; ignores blank lines and comments after `#`. Limits the input size.
 *
 * @throws {ConfigurationError} if the list is too long.
 */
export function readStdinValues(): string[] {
  const values = readStdin(MAX_BYTES)
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
    .filter((line) => line !== "");
  if (values.length > MAX_INPUT_VALUES) throw new ConfigurationError(`There are more than ${MAX_INPUT_VALUES} values.`);
  return values;
}

/**
 * Reads standard input to the end, even if it is slow.
 *
 * @throws {ConfigurationError} if the input is longer.
 */
export function readStdin(maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(64 * 1024);
    const byteCount = readChunk(chunk);
    if (byteCount === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, byteCount));
    length += byteCount;
    if (length > maxBytes) throw new ConfigurationError("Standard input is too long.");
  }
}

function readChunk(chunk: Buffer): number {
  for (;;) {
    try {
      return readSync(0, chunk);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Windows reports the end of a pipe this way.
      if (code === "EOF") return 0;
      // The pipe is non-blocking and has no data yet. Waiting synchronously is fine, because there is nothing else to do.
      if (code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
    }
  }
}

const POLL_MS = 10;
