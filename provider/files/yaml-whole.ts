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

/** A YAML file that was read: its content as plain data, and where each part of it stands. */
export interface YamlSource {
  readonly file: string;
  readonly text: string;
  /** The document with its comments, for tools that edit it. */
  readonly document: Document.Parsed;
  /** The content: maps, arrays, texts, numbers, booleans and null, by YAML 1.2. */
  readonly value: unknown;
  /** Where the value of a path stands, or what is nearest to it. */
  readonly placeOf: (path: readonly PropertyKey[]) => Place;
  /** Where the key of a path stands. */
  readonly placeOfKey: (path: readonly PropertyKey[]) => Place;
  /** How a plain scalar is written, where there is one at a path. */
  readonly writtenAt: (path: readonly PropertyKey[]) => string | undefined;
  /** How it is written. */
  readonly layout: () => Layout;
  /** What is wrong with it as YAML. Where it could not be read at all, the value is undefined. */
  readonly findings: readonly Finding[];
}

/**
 * Reads all of a text with the parser of YAML. Never throws.
 *
 * @param file its name for people.
 * @param values how many values the file has beside those of this text.
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

/** Lines as editors count them, whatever the parser makes of the text. */
function lineCounter(text: string): LineCounter {
  const lines = new LineCounter();
  for (let start = 0; start >= 0; ) {
    lines.addNewLine(start);
    const end = text.indexOf("\n", start);
    start = end < 0 ? -1 : end + 1;
  }
  return lines;
}
