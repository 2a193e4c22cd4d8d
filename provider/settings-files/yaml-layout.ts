import { type Document, isMap, isScalar, isSeq, type Node, type Pair } from "yaml";
import { getColumn, getKeyName, getNodeEnd, getNodeRange } from "./edit-element";

export interface Span {
  readonly start: number;
  /** Without trailing comments and newlines. A block scalar ends after its last line. */
  readonly end: number;
}

export interface KeyLayout {
  readonly name: string;
  readonly key: Span;
  /** The style of the value: block sequence, flow sequence, empty, or something else. */
  readonly kind: "lines" | "brackets" | "nothing" | "other";
  /** The range of the value; if empty, the end of the key. */
  readonly value: Span;
  /** The column of the dashes of `lines`, from 0. */
  readonly column: number;
  /** The elements of `lines` and `brackets`. */
  readonly items: readonly Span[];
}

export interface YamlLayout {
  /** Whether the file is a mapping or empty; otherwise it can't be edited. */
  readonly isMapping: boolean;
  readonly isFlow: boolean;
  readonly isJson: boolean;
  /** The start of the braces, if any. */
  readonly start: number;
  readonly keys: readonly KeyLayout[];
}

export function buildYamlLayout({ contents }: Document.Parsed, text: string): YamlLayout {
  const root: unknown = contents;
  const map = isMap(root) ? root : undefined;
  const first = map?.items[0]?.key;
  const isFlow = map?.flow === true;
  return {
    isMapping: map !== undefined || root === null || (isScalar(root) && root.value === null),
    isFlow,
    isJson: isFlow && isScalar(first) && first.type === "QUOTE_DOUBLE",
    start: map === undefined ? 0 : getNodeRange(map as unknown as Node)[0],
    keys: (map?.items ?? []).map((pair) => buildKeyLayout(pair as Pair, text)),
  };
}

function buildKeyLayout({ key, value }: Pair, text: string): KeyLayout {
  const keySpan = getNodeSpan(key as Node);
  const isBlock = isSeq(value) && value.flow !== true;
  const isEmpty = value === null || (isScalar(value) && value.value === null);
  return {
    name: getKeyName(key),
    key: keySpan,
    kind: isBlock ? "lines" : isSeq(value) ? "brackets" : isEmpty ? "nothing" : "other",
    value: value === null ? { start: keySpan.end, end: keySpan.end } : getNodeSpan(value as Node),
    column: isBlock ? getColumn(text, getNodeRange(value)[0]) : 0,
    items: isSeq(value) ? value.items.map((item) => getNodeSpan(item as Node)) : [],
  };
}

function getNodeSpan(node: Node): Span {
  return { start: getNodeRange(node)[0], end: getNodeEnd(node) };
}
