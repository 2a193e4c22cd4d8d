import { isAscii } from "node:buffer";
import { readYaml } from "../../files/yaml-source";
import type { Element } from "../../gitops/why-schema";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { canonicalMailbox, canonicalValue } from "../../settings/entry-value";

/** Finds what one settings file says of one value, however it is written. Keeps what it has read: versions of a file are much alike. */
export class ElementFinder {
  readonly #value: string;
  readonly #pattern: RegExp;
  readonly #parsedPieces = new Map<string, readonly Element[]>();
  readonly #includes = new Map<string, readonly string[]>();
  #unreadable = 0;

  /** @param value in canonical form. */
  constructor(value: string) {
    this.#value = value;
    const escapedValue = value.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
    // An IPv6 address is written in many ways.
    const valuePattern = /^[\da-f:.]*:[\da-f:.]*$/.test(value)
      ? String.raw`[\da-f.]*:[\da-f:.]+`
      : escapedValue;
    this.#pattern = new RegExp(String.raw`(?<![\w.@-])(?:${valuePattern})(?![\w@-]|\.\w)`, "gi");
  }

  /** In how many of the versions the value stands where the text is no YAML, so that what is said of it can't be told. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** What a file includes, as it is written there. */
  includesIn(text: Buffer): readonly string[] {
    // Most lists are long, and include nothing.
    if (!text.includes("include")) return [];
    const bytes = text.toString("latin1");
    const head = /(?:^|\n)(?:\xef\xbb\xbf)?(["']?)include\1[ \t]*:/.exec(bytes);
    // JSON, and YAML between brackets, have no headings.
    const isInline = /^(?:\xef\xbb\xbf)?\s*\{/.test(bytes);
    if (head === null && !isInline) return [];
    let piece = bytes;
    if (head !== null && !isInline) {
      const from = bytes[head.index] === "\n" ? head.index + 1 : head.index;
      const next = /\n["'A-Za-z]/.exec(bytes.slice(head.index + head[0].length));
      piece = bytes.slice(from, next === null ? undefined : head.index + head[0].length + next.index + 1);
    }
    const cached = this.#includes.get(piece);
    if (cached !== undefined) return cached;
    const { value } = readYaml(utf8(piece), "");
    const include = isMapping(value) ? value["include"] : undefined;
    const includes = Array.isArray(include) ? include.filter((item) => typeof item === "string") : [];
    this.#includes.set(piece, includes);
    return includes;
  }

  in(text: Buffer): readonly Element[] {
    // A byte a character: half the work of decoding it, and nothing that is looked for needs more.
    const bytes = text.toString("latin1");
    const hits = this.#findHits(bytes, text);
    if (hits.length === 0) return [];
    const parts = findSections(bytes);
    const pieces = new Set<string>();
    for (const hitIndex of hits) {
      const part = parts.findLast(({ start }) => start <= hitIndex);
      // Of JSON, or what else has no headings.
      if (part === undefined) pieces.add(bytes);
      else if (/^(?:allow|deny|vips|remove)$/.test(part.name)) pieces.add(getItemText(bytes, part, hitIndex));
    }
    return [...pieces].flatMap((piece) => this.#parseElements(piece));
  }

  #findHits(bytes: string, text: Buffer): readonly number[] {
    const hits: number[] = [];
    for (const { index } of bytes.matchAll(this.#pattern)) hits.push(index);
    // Other letters that stand for these, and characters that are written as escapes.
    if (!isAscii(text)) for (const { index } of bytes.matchAll(NON_ASCII_WORD)) hits.push(index);
    if (text.includes(0x5c)) for (const { index } of bytes.matchAll(ESCAPED_STRING)) hits.push(index);
    return hits;
  }

  #parseElements(piece: string): readonly Element[] {
    const cached = this.#parsedPieces.get(piece);
    if (cached !== undefined) return cached;
    const { value } = readYaml(utf8(piece), "");
    if (!isMapping(value)) this.#unreadable += 1;
    const elements = isMapping(value)
      ? [...this.#listElements(value, ""), ...this.#listElements(value["remove"], "remove ")]
      : [];
    this.#parsedPieces.set(piece, elements);
    return elements;
  }

  #listElements(content: unknown, prefix: string): Element[] {
    if (!isMapping(content)) return [];
    return ["allow", "deny", "vips"].flatMap((section) => {
      const list = content[section];
      if (!Array.isArray(list)) return [];
      return list.flatMap((item: unknown) => {
        const fields = isMapping(item) ? item : { value: item };
        const { value, email, scope, ...rest } = fields as Record<string, unknown>;
        const name = section === "vips" ? (email ?? value) : value;
        if (typeof name !== "string") return [];
        const canonical = section === "vips" ? canonicalMailbox(name) : canonicalValue(name);
        if (canonical !== this.#value) return [];
        return [
          {
            section: `${prefix}${section}` as Element["section"],
            scope: typeof scope === "string" ? scope : DEFAULT_VERDICT_SCOPE,
            fields: Object.fromEntries(
              Object.entries(rest).map(([key, fieldValue]) => [key, formatFieldValue(fieldValue)]),
            ),
          },
        ];
      });
    });
  }
}

/** A run of letters of which not all are ASCII, as bytes; only what can be a value or a part of one. */
const NON_ASCII_WORD = /[\w.@\x80-\xff-]*[\x80-\xff][\w.@\x80-\xff-]*/g;
const ESCAPED_STRING = /"[^"\n]*\\[xuU][^"\n]*"/g;

interface SectionRange {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** Where its first line ends; whether its list begins in that line. */
  readonly body: number;
  readonly isInline: boolean;
}

/** What stands below each key of the file's top. */
function findSections(bytes: string): readonly SectionRange[] {
  const headings = [...bytes.matchAll(/(?:^|\n)(?:\xef\xbb\xbf)?(["']?)([A-Za-z]\w*)\1[ \t]*:([^\n]*)/g)];
  return headings.map(({ 0: line, 2: name = "", 3: rest = "", index }, at) => ({
    name,
    start: index,
    end: headings[at + 1]?.index ?? bytes.length,
    body: index + line.length,
    isInline: !/^\s*(?:#.*)?$/.test(rest),
  }));
}

/** The element that something stands in, below its heading; else all of that part. Whatever stands deeper begins no element. */
function getItemText(
  bytes: string,
  { name, start, end, body, isInline }: SectionRange,
  hitIndex: number,
): string {
  const sectionText = bytes.slice(bytes[start] === "\n" ? start + 1 : start, end);
  if (isInline || name === "remove") return sectionText;
  const indent = /^\s*?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)-[ \t\r\n]/.exec(
    bytes.slice(body, Math.min(end, body + 4_000)),
  )?.[1];
  if (indent === undefined) return sectionText;
  const dash = `\n${indent}-`;
  const from = bytes.lastIndexOf(dash, hitIndex);
  if (from < body - 1) return sectionText;
  const next = bytes.indexOf(dash, from + 1);
  return `${name}:${bytes.slice(from, next < 0 || next > end ? end : next)}\n`;
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, "latin1")
    .toString("utf8")
    .replace(/^\uFEFF/, "");
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function formatFieldValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
