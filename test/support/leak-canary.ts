import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { constants, inflateRawSync } from "node:zlib";

/** A place where part of the key was found, and its encoding there. */
export interface CanaryFinding {
  readonly place: string;
  /** The encodings that were undone, outermost first: "as it is", "base64, JSON". */
  readonly written: string;
}

/** The minimum number of consecutive characters that counts as part of the key. */
export const PART = 8;

/** The maximum depth of nested encodings, such as JSON in base64 in a compressed file. */
const DEPTH = 3;

/**
 * A key to search for, whole or in parts of 8 characters or more, in any case, forwards and backwards, verbatim and in
 * every encoding that software commonly uses for text: base64, hex, percent-encoding, escapes of JSON and HTML, UTF-16,
 * byte lists, compressed, and nested combinations.
 */
export class Canary {
  /** Contains characters that JSON, HTML and URLs must escape, and that any header can carry. */
  readonly key: string;
  readonly #parts: readonly string[];

  constructor(key = 'canary-9Qz7&Vx2"Tk8pL4<wR6/mN3+Hd5=Jc1yB') {
    this.key = key;
    const forwards = listParts(key.toLowerCase());
    this.#parts = [...forwards, ...forwards.map((part) => [...part].reverse().join(""))];
  }

  /** Returns every occurrence of a part of the key in the content, with its encoding; empty if there is none. */
  find(place: string, content: string | Buffer): CanaryFinding[] {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    return [...this.#written(bytes.toString("latin1"), DEPTH, new Set())].map((written) => ({
      place,
      written: written || "as it is",
    }));
  }

  /** Searches every file in a directory, recursively, and the file names. */
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
    // Text that is valid in two encodings, such as lower-case letters, would be decoded again and again.
    if (text.length < PART || seen.has(text)) return;
    seen.add(text);
    const lower = text.toLowerCase();
    if (this.#parts.some((part) => lower.includes(part))) {
      yield "";
      return;
    }
    if (depth === 0) return;
    for (const [name, undo] of Object.entries(DECODERS)) {
      for (const undone of undo(text)) {
        for (const inner of this.#written(undone, depth - 1, seen)) {
          yield inner === "" ? name : `${name}, ${inner}`;
        }
      }
    }
  }
}

function listParts(text: string): string[] {
  return Array.from({ length: text.length - PART + 1 }, (_, index) => text.slice(index, index + PART));
}

/** The decoders by encoding. Text here is bytes, one character per byte. */
const DECODERS: Readonly<Record<string, (text: string) => Iterable<string>>> = {
  JSON: (text) =>
    listIfChanged(
      text,
      text.replace(/\\(?:u00([\da-f]{2})|(["\\/]))/gi, (_, code, plain) => plain ?? parseByte(code, 16)),
    ),
  // `\x41` of Go and of JavaScript, `\u{41}` of our own messages.
  escapes: (text) =>
    listIfChanged(
      text,
      text.replace(/\\(?:x([\da-f]{2})|u\{0*([\da-f]{1,2})\})/gi, (_, x, u) => parseByte(x ?? u, 16)),
    ),
  percent: (text) =>
    listIfChanged(
      text,
      text.replace(/%([\da-f]{2})/gi, (_, code) => parseByte(code, 16)),
    ),
  HTML: (text) =>
    listIfChanged(
      text,
      text
        .replace(/&#x0*([\da-f]{1,2});/gi, (_, code) => parseByte(code, 16))
        .replace(/&#0*(\d{1,3});/g, (_, code) => parseByte(code, 10))
        .replace(/&(amp|lt|gt|quot|apos);/g, (_, name: keyof typeof HTML) => HTML[name]),
    ),
  "UTF-16": (text) => listIfChanged(text, text.replaceAll("\0", "")),
  hex: (text) =>
    decodeRuns(text, /(?:[\da-f]{2}[ :,-]?){8,}/gi, (run) => {
      const digits = run.replace(/[ :,-]/g, "");
      // If a run starts with another digit, the pairs shift by one.
      return [fromBytes(digits, "hex"), fromBytes(digits.slice(1), "hex")];
    }),
  "0x…": (text) =>
    decodeRuns(text, /(?:0x[\da-f]{2}[\s,]*){8,}/gi, (run) => [fromBytes(run.replace(/0x|[\s,]/gi, ""), "hex")]),
  bytes: (text) =>
    decodeRuns(text, /(?:\b\d{2,3}\b[\s,]*){8,}/g, (run) => [
      run
        .split(/[\s,]+/)
        .map((code) => parseByte(code, 10))
        .join(""),
    ]),
  // A part of the key may start at any of the four positions in a base64 group.
  base64: (text) =>
    decodeRuns(text, /[\w+/-]{10,}/g, (run) => [0, 1, 2, 3].map((skipped) => fromBytes(run.slice(skipped), "base64"))),
  compressed: (text) => {
    const bytes = Buffer.from(text, "latin1");
    return [...text.matchAll(COMPRESSED)].flatMap(({ index }) => decompressStream(bytes.subarray(index)));
  },
};

/** The magic bytes of a gzip file, of a zlib stream at its four compression levels, and of a file in a zip archive. */
const BEGINNINGS = ["\x1f\x8b\x08", "x\x01", "x\\^", "x\x9c", "x\xda", "PK\x03\x04"];
const COMPRESSED = new RegExp(BEGINNINGS.join("|"), "g");

const HTML = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" } as const;

function parseByte(digits: string, radix: number): string {
  return String.fromCharCode(Number.parseInt(digits, radix) & 0xff);
}

function fromBytes(text: string, encoding: "hex" | "base64"): string {
  return Buffer.from(text, encoding).toString("latin1");
}

function listIfChanged(before: string, after: string): string[] {
  return before === after ? [] : [after];
}

function decodeRuns(text: string, pattern: RegExp, undo: (run: string) => string[]): string[] {
  return [...text.matchAll(pattern)].flatMap(([run]) => undo(run));
}

/** Returns the contents of a compressed stream; as much as can be read if it is truncated. */
function decompressStream(bytes: Buffer): string[] {
  try {
    return [inflateRawSync(bytes.subarray(startOfData(bytes)), CUT_SHORT).toString("latin1")];
  } catch {
    // It only looked compressed.
    return [];
  }
}

const CUT_SHORT = { finishFlush: constants.Z_SYNC_FLUSH };

/** Returns the length of the header: of zlib (RFC 1950), of gzip (RFC 1952), or of a file in a zip archive. */
function startOfData(bytes: Buffer): number {
  if (bytes[0] === 0x78) return 2;
  if (bytes[0] !== 0x1f) return 30 + bytes.readUInt16LE(26) + bytes.readUInt16LE(28);
  const flags = bytes.readUInt8(3);
  let index = 10;
  if (flags & 4) index += 2 + bytes.readUInt16LE(index);
  if (flags & 8) index = bytes.indexOf(0, index) + 1;
  if (flags & 16) index = bytes.indexOf(0, index) + 1;
  return flags & 2 ? index + 2 : index;
}
