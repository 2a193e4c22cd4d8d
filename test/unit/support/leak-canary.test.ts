import { inspect } from "node:util";
import { deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Canary, PART } from "../../support/leak-canary";

const canary = new Canary();

type TextEncoding = (text: string) => string | Buffer;

const listByteCodes = (text: string): number[] => [...Buffer.from(text)];
const formatHex = (code: number): string => code.toString(16).padStart(2, "0");

const WAYS: Readonly<Record<string, TextEncoding>> = {
  "as it is": (text) => text,
  "in capitals": (text) => text.toUpperCase(),
  backwards: (text) => [...text].reverse().join(""),
  JSON: (text) => JSON.stringify(text),
  "JSON in JSON": (text) => JSON.stringify(JSON.stringify(text)),
  "JSON in code points": (text) =>
    listByteCodes(text)
      .map((code) => `\\u00${formatHex(code)}`)
      .join(""),
  "an inspection": (text) => inspect({ text }),
  "percent-encoding": encodeURIComponent,
  "percent-encoding of all": (text) =>
    listByteCodes(text)
      .map((code) => `%${formatHex(code).toUpperCase()}`)
      .join(""),
  HTML: (text) =>
    text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll("/", "&#x2F;"),
  "HTML in code points": (text) =>
    listByteCodes(text)
      .map((code) => `&#${code};`)
      .join(""),
  "the escapes of Go": (text) =>
    listByteCodes(text)
      .map((code) => `\\x${formatHex(code)}`)
      .join(""),
  hex: (text) => Buffer.from(text).toString("hex"),
  "an inspected buffer": (text) => inspect(Buffer.from(text), { maxArrayLength: Number.POSITIVE_INFINITY }),
  "a buffer's JSON": (text) => JSON.stringify(Buffer.from(text)),
  "bytes of Go": (text) =>
    listByteCodes(text)
      .map((code) => `0x${formatHex(code)}`)
      .join(", "),
  base64: (text) => Buffer.from(text).toString("base64"),
  base64url: (text) => Buffer.from(text).toString("base64url"),
  "UTF-16": (text) => Buffer.from(text, "utf16le"),
  "UTF-16, the other way round": (text) => Buffer.from(text, "utf16le").swap16(),
  gzip: (text) => gzipSync(text),
  zlib: (text) => deflateSync(text),
  "gzip in base64": (text) => gzipSync(text).toString("base64"),
  "JSON in base64 in gzip": (text) => gzipSync(Buffer.from(JSON.stringify(text)).toString("base64")),
};

/** Any part of the key that is long enough to count. */
const part = fc
  .tuple(fc.nat(canary.key.length - PART), fc.nat(canary.key.length - PART))
  .map(([start, more]) => canary.key.slice(start, start + PART + more));

/** The surrounding text. No letter or digit touches the key, since `aa` before hex digits would also be hex. */
const around = fc
  .tuple(fc.string({ unit: "grapheme" }), fc.constantFrom(" ", "\n", '"', ";", "("))
  .map(([text, edge]) => `${text}${edge}`);

describe("key detection in an encoding", () => {
  test.each(Object.entries(WAYS))("finds a part of the key written as %s", (_name, write) => {
    fc.assert(
      fc.property(part, around, around, fc.constantFrom("", "x", "xy"), (text, before, after, shift) => {
        // A part of a longer text may start at any position in a base64 group.
        const bytes = [before, write(`${shift}${text}`), [...after].reverse().join("")].map((item) =>
          Buffer.from(item),
        );
        expect(canary.find("here", Buffer.concat(bytes))).not.toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

test("finds no key in other text", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), fc.base64String(), fc.json()), (text) => {
      expect(canary.find("here", text)).toEqual([]);
      for (const write of Object.values(WAYS)) expect(canary.find("here", write(text))).toEqual([]);
    }),
    { numRuns: 15 },
  );
  expect(canary.find("here", canary.key.slice(0, PART - 1))).toEqual([]);
});

test("reports the place and encoding of a found key", () => {
  const content = gzipSync(JSON.stringify({ key: Buffer.from(canary.key).toString("base64") }));
  expect(canary.find("report.gz", content)).toEqual([{ place: "report.gz", written: "compressed, base64" }]);
});
