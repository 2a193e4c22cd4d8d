import { readSync } from "node:fs";
import { ConfigurationError } from "../client";

/** More than any report of indicators has. */
export const MOST_VALUES = 50_000;
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * The values of a list on standard input, a line each; blank lines and what stands behind `#` are left out. No more is read than a list
 * can have.
 *
 * @throws {ConfigurationError} when it is longer.
 */
export function valuesOnStandardInput(): string[] {
  const values = standardInput(MOST_BYTES)
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
    .filter((line) => line !== "");
  if (values.length > MOST_VALUES) throw new ConfigurationError(`There are more than ${MOST_VALUES} values.`);
  return values;
}

/**
 * All that stands on standard input, however slowly it comes.
 *
 * @param mostBytes more is not read.
 * @throws {ConfigurationError} when it is longer.
 */
export function standardInput(mostBytes: number): Buffer {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(64 * 1024);
    const read = readSome(chunk);
    if (read === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, read));
    length += read;
    if (length > mostBytes) throw new ConfigurationError("What stands on standard input is too long.");
  }
}

function readSome(chunk: Buffer): number {
  for (;;) {
    try {
      return readSync(0, chunk);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // So Windows tells that a pipe has ended.
      if (code === "EOF") return 0;
      // A pipe that waits for nobody, whose other end has nothing yet: nothing else is to be done meanwhile.
      if (code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
    }
  }
}

const LOOK_MS = 10;
