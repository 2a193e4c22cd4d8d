import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { constants, inflateRawSync } from "node:zlib";

/** Where a part of the key was found, and how it was written there. */
export interface CanaryFinding {
  readonly place: string;
  /** The ways of writing that were undone, outermost first: "as it is", "base64, JSON". */
  readonly written: string;
}

/** So many characters of the key in a row are a part of it. */
export const PART = 8;

/** How many ways of writing may lie in each other, as JSON in base64 in a compressed file. */
const DEPTH = 3;

/**
 * A key that is looked for, whole or in parts of 8 characters or more, in any case, forwards and backwards, as it is and
 * in all the ways of writing that software has for a text: base64, hex, percent-encoding, escapes of JSON and HTML,
 * UTF-16, lists of bytes, compressed, and these in each other.
 */
export class Canary {
  /** Has what JSON, HTML and addresses must escape; any header can carry it. */
  readonly key: string;
  readonly #parts: readonly string[];

  constructor(key = 'canary-9Qz7&Vx2"Tk8pL4<wR6/mN3+Hd5=Jc1yB') {
    this.key = key;
    const forwards = partsOf(key.toLowerCase());
    this.#parts = [...forwards, ...forwards.map((part) => [...part].reverse().join(""))];
  }

  /** Every way in which the content shows a part of the key; none when it doesn't. */
  find(place: string, content: string | Buffer): CanaryFinding[] {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    return [...this.#written(bytes.toString("latin1"), DEPTH, new Set())].map((written) => ({
      place,
      written: written || "as it is",
    }));
  }

  /** The same for every file of a folder, however deep, and for the names of the files. */
  async findInDirectory(directory: string): Promise<CanaryFinding[]> {
    const files = await readdir(directory, { recursive: true, withFileTypes: true });
    const findings = files.map(async (file) => {
      const path = join(file.parentPath, file.name);
      const inName = this.find(path, file.name);
      return file.isFile() ? [...inName, ...this.find(path, await readFile(path))] : inName;
    });
    return (await Promise.all(findings)).flat();
  }

  *#written(text: string, depth: number, seen: Set<string>): Iterable<string> {
    // What is written in two ways at once, as lower-case letters are, would be undone again and again.
    if (text.length < PART || seen.has(text)) return;
    seen.add(text);
    const lower = text.toLowerCase();
    if (this.#parts.some((part) => lower.includes(part))) {
      yield "";
      return;
    }
    if (depth === 0) return;
    for (const [name, undo] of Object.entries(WAYS_OF_WRITING)) {
      for (const undone of undo(text)) {
        for (const inner of this.#written(undone, depth - 1, seen)) {
          yield inner === "" ? name : `${name}, ${inner}`;
        }
      }
    }
  }
}

function partsOf(text: string): string[] {
  return Array.from({ length: text.length - PART + 1 }, (_, at) => text.slice(at, at + PART));
}

/** What each way of writing hides. Text here is bytes, a character a byte. */
const WAYS_OF_WRITING: Readonly<Record<string, (text: string) => Iterable<string>>> = {
  JSON: (text) =>
    changed(
      text,
      text.replace(/\\(?:u00([\da-f]{2})|(["\\/]))/gi, (_, code, plain) => plain ?? byte(code, 16)),
    ),
  // `\x41` of Go and of JavaScript, `\u{41}` of our own messages.
  escapes: (text) =>
    changed(
      text,
      text.replace(/\\(?:x([\da-f]{2})|u\{0*([\da-f]{1,2})\})/gi, (_, x, u) => byte(x ?? u, 16)),
    ),
  percent: (text) =>
    changed(
      text,
      text.replace(/%([\da-f]{2})/gi, (_, code) => byte(code, 16)),
    ),
  HTML: (text) =>
    changed(
      text,
      text
        .replace(/&#x0*([\da-f]{1,2});/gi, (_, code) => byte(code, 16))
        .replace(/&#0*(\d{1,3});/g, (_, code) => byte(code, 10))
        .replace(/&(amp|lt|gt|quot|apos);/g, (_, name: keyof typeof HTML) => HTML[name]),
    ),
  "UTF-16": (text) => changed(text, text.replaceAll("\0", "")),
  hex: (text) =>
    runs(text, /(?:[\da-f]{2}[ :,-]?){8,}/gi, (run) => {
      const digits = run.replace(/[ :,-]/g, "");
      // Where a run begins with another digit, the pairs are the other ones.
      return [fromBytes(digits, "hex"), fromBytes(digits.slice(1), "hex")];
    }),
  "0x…": (text) =>
    runs(text, /(?:0x[\da-f]{2}[\s,]*){8,}/gi, (run) => [fromBytes(run.replace(/0x|[\s,]/gi, ""), "hex")]),
  bytes: (text) =>
    runs(text, /(?:\b\d{2,3}\b[\s,]*){8,}/g, (run) => [
      run
        .split(/[\s,]+/)
        .map((code) => byte(code, 10))
        .join(""),
    ]),
  // A part of the key begins in any of the four places of a group of characters.
  base64: (text) =>
    runs(text, /[\w+/-]{10,}/g, (run) => [0, 1, 2, 3].map((skipped) => fromBytes(run.slice(skipped), "base64"))),
  compressed: (text) => {
    const bytes = Buffer.from(text, "latin1");
    return [...text.matchAll(COMPRESSED)].flatMap(({ index }) => decompressed(bytes.subarray(index)));
  },
};

/** How a gzip file, a zlib stream in its four strengths, and a file in a zip archive begin. */
const BEGINNINGS = ["\x1f\x8b\x08", "x\x01", "x\\^", "x\x9c", "x\xda", "PK\x03\x04"];
const COMPRESSED = new RegExp(BEGINNINGS.join("|"), "g");

const HTML = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" } as const;

function byte(digits: string, radix: number): string {
  return String.fromCharCode(Number.parseInt(digits, radix) & 0xff);
}

function fromBytes(text: string, encoding: "hex" | "base64"): string {
  return Buffer.from(text, encoding).toString("latin1");
}

function changed(before: string, after: string): string[] {
  return before === after ? [] : [after];
}

function runs(text: string, pattern: RegExp, undo: (run: string) => string[]): string[] {
  return [...text.matchAll(pattern)].flatMap(([run]) => undo(run));
}

/** What a compressed stream holds; as far as it goes, where it is cut short. */
function decompressed(bytes: Buffer): string[] {
  try {
    return [inflateRawSync(bytes.subarray(startOfData(bytes)), CUT_SHORT).toString("latin1")];
  } catch {
    // It only looked like one.
    return [];
  }
}

const CUT_SHORT = { finishFlush: constants.Z_SYNC_FLUSH };

/** How long the header is: of zlib (RFC 1950), of gzip (RFC 1952), of a file in a zip archive. */
function startOfData(bytes: Buffer): number {
  if (bytes[0] === 0x78) return 2;
  if (bytes[0] !== 0x1f) return 30 + bytes.readUInt16LE(26) + bytes.readUInt16LE(28);
  const flags = bytes.readUInt8(3);
  let at = 10;
  if (flags & 4) at += 2 + bytes.readUInt16LE(at);
  if (flags & 8) at = bytes.indexOf(0, at) + 1;
  if (flags & 16) at = bytes.indexOf(0, at) + 1;
  return flags & 2 ? at + 2 : at;
}
