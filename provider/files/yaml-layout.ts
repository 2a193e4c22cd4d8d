import { type Document, isMap, isScalar, isSeq, type Node, type Pair } from "yaml";
import { columnOf, endOf, keyName, rangeOf } from "./edit-element";

/** Where in a text something stands. */
export interface Span {
  readonly start: number;
  /** Without the comments and line ends behind it; a block of lines ends behind its last line. */
  readonly end: number;
}

/** A key of the file with what stands under it. */
export interface LaidOut {
  readonly name: string;
  readonly key: Span;
  /** What is written under it: elements on lines of their own, elements between brackets, nothing, or something else. */
  readonly kind: "lines" | "brackets" | "nothing" | "other";
  /** Where that is; where nothing is written, behind the key. */
  readonly value: Span;
  /** The column of the dashes of `lines`, from 0. */
  readonly column: number;
  /** The elements of `lines` and `brackets`. */
  readonly items: readonly Span[];
}

/** How a file is written, for those who edit it. */
export interface Layout {
  /** Whether it is keys and values, or nothing; else it can't be edited. */
  readonly isMapping: boolean;
  readonly isFlow: boolean;
  readonly isJson: boolean;
  /** Where the braces begin, where it has some. */
  readonly start: number;
  readonly keys: readonly LaidOut[];
}

export function layoutOf({ contents }: Document.Parsed, text: string): Layout {
  const root: unknown = contents;
  const map = isMap(root) ? root : undefined;
  const first = map?.items[0]?.key;
  const isFlow = map?.flow === true;
  return {
    isMapping: map !== undefined || root === null || (isScalar(root) && root.value === null),
    isFlow,
    isJson: isFlow && isScalar(first) && first.type === "QUOTE_DOUBLE",
    start: map === undefined ? 0 : rangeOf(map as unknown as Node)[0],
    keys: (map?.items ?? []).map((pair) => laidOut(pair as Pair, text)),
  };
}

function laidOut({ key, value }: Pair, text: string): LaidOut {
  const keySpan = spanOf(key as Node);
  const isLines = isSeq(value) && value.flow !== true;
  const isNothing = value === null || (isScalar(value) && value.value === null);
  return {
    name: keyName(key),
    key: keySpan,
    kind: isLines ? "lines" : isSeq(value) ? "brackets" : isNothing ? "nothing" : "other",
    value: value === null ? { start: keySpan.end, end: keySpan.end } : spanOf(value as Node),
    column: isLines ? columnOf(text, rangeOf(value)[0]) : 0,
    items: isSeq(value) ? value.items.map((item) => spanOf(item as Node)) : [],
  };
}

function spanOf(node: Node): Span {
  return { start: rangeOf(node)[0], end: endOf(node) };
}
