import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, type Node, type Pair, type YAMLMap } from "yaml";
import type { FileLocation, Finding } from "./finding";
import { isJsonFile, reportInvalidJson } from "./json-syntax";
import { buildYamlLayout, type YamlLayout } from "./yaml-layout";
import { parseYamlDocument, type ReportProblem } from "./yaml-parser";
import { getKeyText, toPlainData } from "./yaml-value";

/** A parsed YAML file with plain data and locations. */
export interface YamlSource {
  readonly file: string;
  readonly text: string;
  /** The document with comments, for editing. */
  readonly document: Document.Parsed;
  /** The content in YAML 1.2: maps, arrays, texts, numbers, booleans and null. */
  readonly value: unknown;
  /** Returns the location of the value at a path, or of its nearest parent. */
  readonly locate: (path: readonly PropertyKey[]) => FileLocation;
  /** Returns the location of the key at a path. */
  readonly locateKey: (path: readonly PropertyKey[]) => FileLocation;
  /** Returns the source of the plain scalar at a path; undefined if there is none. */
  readonly getRawText: (path: readonly PropertyKey[]) => string | undefined;
  /** Returns the layout for editing. */
  readonly getLayout: () => YamlLayout;
  /** YAML errors. If the file could not be read at all, the value is undefined. */
  readonly findings: readonly Finding[];
}

/**
 * Parses a whole text with the YAML parser. Never throws.
 *
 * @param valueCount the number of values in the file outside of this text.
 */
export function readFullYaml(text: string, file: string, valueCount = 0): YamlSource {
  const lines = createLineCounter(text);
  const findings: Finding[] = [];
  const locate = (start: number, end = start): FileLocation => {
    const startPosition = lines.linePos(start);
    if (end <= start) return { file, line: startPosition.line, column: startPosition.col };
    const endPosition = lines.linePos(end);
    return {
      file,
      line: startPosition.line,
      column: startPosition.col,
      endLine: endPosition.line,
      endColumn: endPosition.col,
    };
  };
  const report: ReportProblem = (code, message, start = 0, end = start) => {
    findings.push({ code, level: "error", message, place: locate(start, end) });
  };

  const document = parseYamlDocument(text, report, valueCount);
  if (findings.length === 0 && isJsonFile(file)) reportInvalidJson(text, report);
  const value =
    findings.length === 0 ? toPlainData(document.contents, report, (offset) => lines.linePos(offset).line) : undefined;

  const pairsByKey = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();
  const findPair = (map: YAMLMap, segment: PropertyKey): Pair | undefined => {
    let pairs = pairsByKey.get(map);
    if (pairs === undefined) {
      pairs = new Map(map.items.map((pair) => [getKeyText(pair), pair]));
      pairsByKey.set(map, pairs);
    }
    return pairs.get(String(segment));
  };
  const findNode = (path: readonly PropertyKey[]): Node | undefined => {
    let current: unknown = document.contents;
    for (const segment of path) {
      let next: unknown;
      if (isMap(current)) next = findPair(current, segment)?.value;
      else if (isSeq(current)) next = current.items[segment as number];
      if (!isNode(next)) break;
      current = next;
    }
    return isNode(current) ? current : undefined;
  };
  return {
    file,
    text,
    document,
    value,
    findings,
    getLayout: () => buildYamlLayout(document, text),
    locate(path) {
      const [start = 0, end = start] = findNode(path)?.range ?? [];
      return locate(start, end);
    },
    locateKey(path) {
      const parent = findNode(path.slice(0, -1));
      const key = isMap(parent) ? findPair(parent, path.at(-1) ?? "")?.key : undefined;
      const [start = 0, end = start] = (isNode(key) ? key.range : parent?.range) ?? [];
      return locate(start, end);
    },
    getRawText(path) {
      const node = findNode(path);
      return isScalar(node) && node.type === "PLAIN" ? node.source : undefined;
    },
  };
}

/** Counts lines like editors, independently of the parser. */
function createLineCounter(text: string): LineCounter {
  const lines = new LineCounter();
  for (let start = 0; start >= 0; ) {
    lines.addNewLine(start);
    const end = text.indexOf("\n", start);
    start = end < 0 ? -1 : end + 1;
  }
  return lines;
}
