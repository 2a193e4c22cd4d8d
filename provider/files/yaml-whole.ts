import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type YAMLMap,
} from "yaml";
import type { Finding, Place } from "./finding";
import { isJsonFile, refuseInvalidJson } from "./json-syntax";
import { type Layout, layoutOf } from "./yaml-layout";
import { parse, type Refuse } from "./yaml-parser";
import { keyText, plain } from "./yaml-value";

/** A parsed YAML file with plain data and locations. */
export interface YamlSource {
  readonly file: string;
  readonly text: string;
  /** The document with comments, for editing. */
  readonly document: Document.Parsed;
  /** The content in YAML 1.2: maps, arrays, texts, numbers, booleans and null. */
  readonly value: unknown;
  /** Returns the location of the value at a path, or of its nearest parent. */
  readonly placeOf: (path: readonly PropertyKey[]) => Place;
  /** Returns the location of the key at a path. */
  readonly placeOfKey: (path: readonly PropertyKey[]) => Place;
  /** Returns the source of the plain scalar at a path; undefined if there is none. */
  readonly writtenAt: (path: readonly PropertyKey[]) => string | undefined;
  /** Returns the layout for editing. */
  readonly layout: () => Layout;
  /** YAML errors. If the file could not be read at all, the value is undefined. */
  readonly findings: readonly Finding[];
}

/**
 * Parses a whole text with the YAML parser. Never throws.
 *
 * @param file the file name for messages.
 * @param values the number of values in the file outside of this text.
 */
export function readWhole(text: string, file: string, values = 0): YamlSource {
  const lines = lineCounter(text);
  const findings: Finding[] = [];
  const place = (start: number, end = start): Place => {
    const from = lines.linePos(start);
    if (end <= start) return { file, line: from.line, column: from.col };
    const to = lines.linePos(end);
    return { file, line: from.line, column: from.col, endLine: to.line, endColumn: to.col };
  };
  const refuse: Refuse = (code, message, start = 0, end = start) => {
    findings.push({ code, level: "error", message, place: place(start, end) });
  };

  const document = parse(text, refuse, values);
  if (findings.length === 0 && isJsonFile(file)) refuseInvalidJson(text, refuse);
  const value =
    findings.length === 0
      ? plain(document.contents, refuse, (offset) => lines.linePos(offset).line)
      : undefined;

  const pairsByKey = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();
  const pairAt = (map: YAMLMap, step: PropertyKey): Pair | undefined => {
    let pairs = pairsByKey.get(map);
    if (pairs === undefined) {
      pairs = new Map(map.items.map((pair) => [keyText(pair), pair]));
      pairsByKey.set(map, pairs);
    }
    return pairs.get(String(step));
  };
  const nodeAt = (path: readonly PropertyKey[]): Node | undefined => {
    let at: unknown = document.contents;
    for (const step of path) {
      let next: unknown;
      if (isMap(at)) next = pairAt(at, step)?.value;
      else if (isSeq(at)) next = at.items[step as number];
      if (!isNode(next)) break;
      at = next;
    }
    return isNode(at) ? at : undefined;
  };
  return {
    file,
    text,
    document,
    value,
    findings,
    layout: () => layoutOf(document, text),
    placeOf(path) {
      const [start = 0, end = start] = nodeAt(path)?.range ?? [];
      return place(start, end);
    },
    placeOfKey(path) {
      const parent = nodeAt(path.slice(0, -1));
      const key = isMap(parent) ? pairAt(parent, path.at(-1) ?? "")?.key : undefined;
      const [start = 0, end = start] = (isNode(key) ? key.range : parent?.range) ?? [];
      return place(start, end);
    },
    writtenAt(path) {
      const node = nodeAt(path);
      return isScalar(node) && node.type === "PLAIN" ? node.source : undefined;
    },
  };
}

/** Counts lines like editors, independently of the parser. */
function lineCounter(text: string): LineCounter {
  const lines = new LineCounter();
  for (let start = 0; start >= 0; ) {
    lines.addNewLine(start);
    const end = text.indexOf("\n", start);
    start = end < 0 ? -1 : end + 1;
  }
  return lines;
}
