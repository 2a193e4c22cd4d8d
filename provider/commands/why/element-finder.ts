import { isAscii } from "node:buffer";
import type { ElementContent } from "../../gitops/why-schema";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { canonicalizeMailbox, canonicalizeValue } from "../../model/entry-value";
import { isMapping } from "../../settings-files/element-identity";
import { readYaml } from "../../settings-files/yaml-source";

/** Finds the elements of one value in settings files, in any spelling. Caches parsed pieces because versions of a file are much alike. */
export class ElementFinder {
  readonly #value: string;
  readonly #pattern: RegExp;
  readonly #parsedPieces = new Map<string, readonly ElementContent[]>();
  readonly #includes = new Map<string, readonly string[]>();
  #unreadableCount = 0;

  /** @param value in canonical form. */
  constructor(value: string) {
    this.#value = value;
    const escapedValue = value.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
    // An IPv6 address has many spellings.
    const valuePattern = /^[\da-f:.]*:[\da-f:.]*$/.test(value) ? String.raw`[\da-f.]*:[\da-f:.]+` : escapedValue;
    this.#pattern = new RegExp(String.raw`(?<![\w.@-])(?:${valuePattern})(?![\w@-]|\.\w)`, "gi");
  }

  /** The number of pieces with the value that aren't valid YAML, so their elements are unknown. */
  get unreadableCount(): number {
    return this.#unreadableCount;
  }

  findIncludes(text: Buffer): readonly string[] {
    // Most lists are long and include nothing.
    if (!text.includes("include")) return [];
    const bytes = text.toString("latin1");
    const head = /(?:^|\n)(?:\xef\xbb\xbf)?(["']?)include\1[ \t]*:/.exec(bytes);
    // JSON and inline YAML mappings have no section headings.
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
    const { value } = readYaml(decodeUtf8(piece), "");
    const include = isMapping(value) ? value["include"] : undefined;
    const includes = Array.isArray(include) ? include.filter((item) => typeof item === "string") : [];
    this.#includes.set(piece, includes);
    return includes;
  }

  findElements(text: Buffer): readonly ElementContent[] {
    // Latin-1 halves the decoding work, and the search needs only bytes.
    const bytes = text.toString("latin1");
    const hits = this.#findHits(bytes, text);
    if (hits.length === 0) return [];
    const parts = findSections(bytes);
    const pieces = new Set<string>();
    for (const hitIndex of hits) {
      const part = parts.findLast(({ start }) => start <= hitIndex);
      // JSON, or another format without section headings.
      if (part === undefined) pieces.add(bytes);
      else if (/^(?:allow|deny|vips|remove)$/.test(part.name)) pieces.add(getItemText(bytes, part, hitIndex));
    }
    return [...pieces].flatMap((piece) => this.#parseElements(piece));
  }

  #findHits(bytes: string, text: Buffer): readonly number[] {
    const hits: number[] = [];
    for (const { index } of bytes.matchAll(this.#pattern)) hits.push(index);
    // Also consider non-ASCII spellings of the value, and escaped characters.
    if (!isAscii(text)) for (const { index } of bytes.matchAll(NON_ASCII_WORD)) hits.push(index);
    if (text.includes(0x5c)) for (const { index } of bytes.matchAll(ESCAPED_STRING)) hits.push(index);
    return hits;
  }

  #parseElements(piece: string): readonly ElementContent[] {
    const cached = this.#parsedPieces.get(piece);
    if (cached !== undefined) return cached;
    const { value } = readYaml(decodeUtf8(piece), "");
    if (!isMapping(value)) this.#unreadableCount += 1;
    const elements = isMapping(value)
      ? [...this.#listElements(value, ""), ...this.#listElements(value["remove"], "remove ")]
      : [];
    this.#parsedPieces.set(piece, elements);
    return elements;
  }

  #listElements(content: unknown, prefix: string): ElementContent[] {
    if (!isMapping(content)) return [];
    return ["allow", "deny", "vips"].flatMap((section) => {
      const list = content[section];
      if (!Array.isArray(list)) return [];
      return list.flatMap((item: unknown) => {
        const fields = isMapping(item) ? item : { value: item };
        const { value, email, scope, ...rest } = fields as Record<string, unknown>;
        const name = section === "vips" ? (email ?? value) : value;
        if (typeof name !== "string") return [];
        const canonical = section === "vips" ? canonicalizeMailbox(name) : canonicalizeValue(name);
        if (canonical !== this.#value) return [];
        return [
          {
            section: `${prefix}${section}` as ElementContent["section"],
            scope: typeof scope === "string" ? scope : DEFAULT_VERDICT_SCOPE,
            fields: Object.fromEntries(
              Object.entries(rest).flatMap(([key, fieldValue]) => listFieldTexts(key, fieldValue)),
            ),
          },
        ];
      });
    });
  }
}

/** Matches words with non-ASCII characters, as bytes; limited to characters that a value can contain. */
const NON_ASCII_WORD = /[\w.@\x80-\xff-]*[\x80-\xff][\w.@\x80-\xff-]*/g;
const ESCAPED_STRING = /"[^"\n]*\\[xuU][^"\n]*"/g;

interface SectionRange {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** The end of the heading's line; `isInline` if the list begins in that line. */
  readonly body: number;
  readonly isInline: boolean;
}

/** Finds the ranges of the file's top-level keys. */
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

/**
 * Returns the text of the element that contains a hit, below its heading; otherwise the whole section. Deeper lines don't begin an element.
 */
function getItemText(bytes: string, { name, start, end, body, isInline }: SectionRange, hitIndex: number): string {
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

function decodeUtf8(bytes: string): string {
  return Buffer.from(bytes, "latin1")
    .toString("utf8")
    .replace(/^\uFEFF/, "");
}

/** Returns the texts of a field by its path, such as `seen.last`. */
function listFieldTexts(path: string, value: unknown): [path: string, text: string][] {
  if (isMapping(value)) return Object.entries(value).flatMap(([key, item]) => listFieldTexts(`${path}.${key}`, item));
  return [[path, typeof value === "string" ? value : JSON.stringify(value)]];
}
