import { isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap } from "yaml";
import { ELEMENT_FIELD_NAMES, type ElementValue } from "./element-fields";
import type { ElementReview } from "./settings-schema";
import { formatYamlComment, formatYamlText, type TextStyle } from "./yaml-text";

export interface ElementStyle {
  /** The key of the declared value: `value`, or `email` for a VIP. */
  readonly valueKey: "value" | "email";
  /** The column of the dash, from 0. */
  readonly column: number;
  /** The width from the dash to the content: `2` in `- evil.example`. */
  readonly dashWidth: number;
  /** Whether an element with only a value is written in short form: `- evil.example`. */
  readonly isShort: boolean;
  /** Whether an element with more keys is written in braces. */
  readonly isFlow: boolean;
  /** The quoting of texts, by key. */
  readonly quotes: Readonly<Record<string, QuoteStyle>>;
  /** Whether keys are quoted, as in JSON. */
  readonly isJson: boolean;
  readonly lineEnd: string;
}

type QuoteStyle = NonNullable<TextStyle["quotes"]>;

/** The value of an element's key: a text or a review. */
export type FieldValue = ElementValue | ElementReview;

/** The order of keys in an element. */
const KEY_ORDER: readonly string[] = ["value", "email", ...ELEMENT_FIELD_NAMES, "reviewed", "seen"];

export function detectElementStyle(node: unknown, source: string, defaultStyle: ElementStyle): ElementStyle {
  const text = isMap(node) ? node.get(defaultStyle.valueKey, true) : node;
  const quotes = Object.fromEntries(
    isMap(node)
      ? node.items.map(({ key, value }) => [getKeyName(key), getQuoteStyle(value)])
      : [[defaultStyle.valueKey, getQuoteStyle(text)]],
  );
  const valueQuotes = quotes[defaultStyle.valueKey] ?? "plain";
  const firstKey = isMap(node) ? node.items[0]?.key : undefined;
  const isJson = isScalar(firstKey) ? getQuoteStyle(firstKey) === "double" : defaultStyle.isJson;
  const start = getNodeRange(node as Node)[0];
  const lineStart = source.lastIndexOf("\n", start - 1) + 1;
  const dash = /^( *)(- +)/.exec(source.slice(lineStart, start));
  return {
    ...defaultStyle,
    ...(dash === null ? {} : { column: dash[1]?.length ?? 0, dashWidth: dash[2]?.length ?? 2 }),
    isShort: !isMap(node),
    isFlow: isMap(node) ? node.flow === true : defaultStyle.isFlow,
    // A key keeps its quoting. A new key is quoted only in JSON.
    quotes: { ...(isJson ? getJsonQuotes() : {}), ...quotes, [defaultStyle.valueKey]: valueQuotes },
    isJson,
  };
}

/** Formats an element in block style, with its note above. */
export function formatBlockElement(
  element: Readonly<Record<string, FieldValue>>,
  yamlComment: string | undefined,
  style: ElementStyle,
): string {
  const { column, dashWidth, valueKey, isShort, isFlow, quotes, lineEnd } = style;
  const indentation = " ".repeat(column);
  const dash = `${indentation}-${" ".repeat(dashWidth - 1)}`;
  const entries = sortByKeyOrder(element);
  const comment = yamlComment === undefined ? "" : formatYamlComment(yamlComment, column, lineEnd);
  const [first] = entries;
  if (entries.length === 1 && isShort && first?.[0] === valueKey) {
    return `${comment}${dash}${formatYamlText(String(first[1]), { quotes: quotes[valueKey] ?? "plain" })}${lineEnd}`;
  }
  if (isFlow) return `${comment}${dash}${formatFlowElement(element, style)}${lineEnd}`;
  const innerColumn = column + dashWidth;
  const lines = entries.map(([key, text], index) => {
    const start = index === 0 ? dash : " ".repeat(innerColumn);
    return start + formatBlockPair(key, text, { ...style, column: innerColumn });
  });
  return comment + lines.map((line) => line + lineEnd).join("");
}

export function formatFlowElement(element: Readonly<Record<string, FieldValue>>, style: ElementStyle): string {
  const { valueKey, quotes, isShort, isJson } = style;
  const entries = sortByKeyOrder(element);
  const [first] = entries;
  if (entries.length === 1 && isShort && first?.[0] === valueKey) {
    return formatYamlText(String(first[1]), { quotes: quotes[valueKey] ?? "plain", isFlow: true });
  }
  const pairs = entries.map(([key, text]) => formatFlowPair(key, text, style));
  return isJson ? `{${pairs.join(", ")}}` : `{ ${pairs.join(", ")} }`;
}

/**
 * Sets a key of the only element in a text, or removes the key if `newValue` is undefined. Everything else stays unchanged.
 *
 * @param node the element in that text.
 */
export function setElementKey(
  source: string,
  node: Node,
  key: string,
  newValue: FieldValue | undefined,
  defaultStyle: ElementStyle,
): string {
  const style = detectElementStyle(node, source, defaultStyle);
  if (isMap(node)) {
    return node.flow === true
      ? setFlowMapKey(source, node, key, newValue, style)
      : setBlockMapKey(source, node, key, newValue, style);
  }
  const [start] = getNodeRange(node);
  const end = getNodeEnd(node);
  const isBlock = source[end - 1] === "\n";
  const nodeText = source.slice(start, end);
  const isFlow = style.isFlow;
  const valueText =
    isBlock || nodeText.includes("\n")
      ? formatYamlText(String((node as Scalar).value), { quotes: "double", isFlow })
      : nodeText;
  if (key === style.valueKey) {
    if (newValue === undefined) return source;
    const text = formatYamlText(String(newValue), { quotes: style.quotes[key] ?? "plain", isFlow });
    return replaceRange(source, start, end, text + (isBlock ? style.lineEnd : ""));
  }
  if (newValue === undefined) return source;
  if (isFlow) {
    const name = style.isJson ? JSON.stringify(style.valueKey) : style.valueKey;
    const pairs = `${name}: ${valueText}, ${formatFlowPair(key, newValue, style)}`;
    return replaceRange(source, start, end, style.isJson ? `{${pairs}}` : `{ ${pairs} }`);
  }
  const column = getColumn(source, start);
  const expanded = replaceRange(source, start, end, `${style.valueKey}: ${valueText}${isBlock ? style.lineEnd : ""}`);
  const offset = findLineEnd(expanded, start);
  return replaceRange(
    expanded,
    offset,
    offset,
    `${" ".repeat(column)}${formatBlockPair(key, newValue, { ...style, column })}${style.lineEnd}`,
  );
}

function setBlockMapKey(
  source: string,
  map: YAMLMap,
  key: string,
  newValue: FieldValue | undefined,
  style: ElementStyle,
): string {
  const index = map.items.findIndex((pair) => getKeyName(pair.key) === key);
  const pair = map.items[index];
  const column = getColumn(source, getNodeRange(map)[0]);
  if (pair === undefined) {
    if (newValue === undefined) return source;
    const previousPair = findPrecedingPair(map, key);
    const offset = previousPair === undefined ? source.length : getPairLineEnd(source, previousPair);
    return replaceRange(
      source,
      offset,
      offset,
      `${" ".repeat(column)}${formatBlockPair(key, newValue, { ...style, column })}${style.lineEnd}`,
    );
  }
  const end = getPairEnd(pair);
  if (newValue !== undefined) {
    if (typeof newValue !== "string") return replaceReview(source, pair, newValue, style);
    if (!isScalar(pair.value) || pair.value.range == null) return source;
    const [start] = pair.value.range;
    const wasBlock = end > start && source[end - 1] === "\n";
    const text = formatYamlText(newValue, { quotes: getQuoteStyle(pair.value) });
    const isEmpty = end === start;
    return replaceRange(source, start, end, (isEmpty ? " " : "") + text + (wasBlock ? style.lineEnd : ""));
  }
  const next = map.items[index + 1];
  const start = getNodeRange(pair.key as Node)[0];
  const after = getPairLineEnd(source, pair);
  if (index > 0) return replaceRange(source, source.lastIndexOf("\n", start - 1) + 1, after, "");
  if (next === undefined) return source;
  const nextStart = getNodeRange(next.key as Node)[0];
  const textBetween = source.slice(after, nextStart);
  // The next key moves behind the dash. Comments in between leave the dash alone on its line.
  if (textBetween.trim() === "") return replaceRange(source, start, nextStart, "");
  const dashEnd = source.slice(0, start).trimEnd().length;
  return replaceRange(source, dashEnd, after, style.lineEnd);
}

/** Returns the pair after which a new key belongs. */
function findPrecedingPair({ items }: YAMLMap, key: string): Pair | undefined {
  return items.findLast((pair) => getKeyRank(getKeyName(pair.key)) < getKeyRank(key)) ?? items.at(-1);
}

/** Replaces a review and keeps its trailing comment. */
function replaceReview(source: string, pair: Pair, newValue: ElementReview, style: ElementStyle): string {
  const [, keyEnd] = getNodeRange(pair.key as Node);
  const colon = source.indexOf(":", keyEnd) + 1;
  return replaceRange(source, colon, Math.max(colon, getPairEnd(pair)), ` ${formatReviewMapping(newValue, style)}`);
}

function setFlowMapKey(
  source: string,
  map: YAMLMap,
  key: string,
  newValue: FieldValue | undefined,
  style: ElementStyle,
): string {
  const index = map.items.findIndex((pair) => getKeyName(pair.key) === key);
  const pair = map.items[index];
  if (pair === undefined) {
    if (newValue === undefined) return source;
    const previousPair = findPrecedingPair(map, key);
    const offset = previousPair === undefined ? getNodeRange(map)[0] + 1 : getPairEnd(previousPair);
    return replaceRange(source, offset, offset, `, ${formatFlowPair(key, newValue, style)}`);
  }
  const [start] = getNodeRange(pair.key as Node);
  const end = getPairEnd(pair);
  if (newValue !== undefined) {
    if (typeof newValue !== "string") return replaceReview(source, pair, newValue, style);
    const [valueStart] = getNodeRange(pair.value as Node);
    const quotes = getQuoteStyle(pair.value);
    const text = formatYamlText(newValue, { quotes: style.isJson ? "double" : quotes, isFlow: true });
    return replaceRange(source, valueStart, end, (valueStart === end ? " " : "") + text);
  }
  return removeFlowItem(source, start, end, index === 0 ? undefined : getPairEnd(map.items[index - 1] as Pair));
}

/** Removes an item from a flow sequence, with its comma and the lines and comments that only it uses. */
export function removeFlowItem(source: string, start: number, end: number, previousEnd: number | undefined): string {
  const comma = findCommaAfter(source, end);
  let startOffset = start;
  let endOffset = comma === undefined ? end : comma + 1;
  let result = source;
  if (comma === undefined && previousEnd !== undefined) {
    const previousComma = findCommaAfter(source, previousEnd);
    if (
      previousComma !== undefined &&
      source.slice(previousComma + 1, start).trim() === "" &&
      !source.slice(previousComma, start).includes("\n")
    ) {
      return replaceRange(source, previousComma, end, "");
    }
    if (previousComma !== undefined) {
      result = replaceRange(source, previousComma, previousComma + 1, "");
      startOffset -= 1;
      endOffset -= 1;
    }
  }
  const lineStart = result.lastIndexOf("\n", startOffset - 1) + 1;
  const lineEnd = findLineEnd(result, endOffset);
  const isAlone =
    lineStart > 0 &&
    result.slice(lineStart, startOffset).trim() === "" &&
    /^\s*(?:#.*)?\r?\n?$/.test(result.slice(endOffset, lineEnd));
  if (isAlone) return replaceRange(result, findCommentStart(result, lineStart), lineEnd, "");
  const spaces = /^ */.exec(result.slice(endOffset))?.[0].length ?? 0;
  return replaceRange(result, startOffset, endOffset + (comma === undefined ? 0 : spaces), "");
}

/** Returns the start of the comment lines directly above a line with the same indentation. */
function findCommentStart(source: string, lineStart: number): number {
  const indent = /^[ \t]*/.exec(source.slice(lineStart))?.[0].length ?? 0;
  let offset = lineStart;
  while (offset > 0) {
    const previousLine = source.lastIndexOf("\n", offset - 2) + 1;
    const line = source.slice(previousLine, offset);
    // The first line contains the bracket.
    if (previousLine === 0 || !/^[ \t]*#/.test(line) || line.search(/#/) !== indent) break;
    offset = previousLine;
  }
  return offset;
}

/** Returns the offset of the next comma, if only white space and comments precede it. */
export function findCommaAfter(source: string, offset: number): number | undefined {
  const [skipped = ""] = /^(?:\s|(?<=\s)#.*)*/.exec(source.slice(offset)) ?? [];
  const commaOffset = offset + skipped.length;
  return source[commaOffset] === "," ? commaOffset : undefined;
}

function formatBlockPair(key: string, value: FieldValue, style: ElementStyle): string {
  const quotes = style.quotes[key] ?? "plain";
  const name = style.isJson ? JSON.stringify(key) : key;
  if (typeof value !== "string") return `${name}: ${formatReviewMapping(value, style)}`;
  return `${name}: ${formatYamlText(value, { quotes })}`;
}

function formatFlowPair(key: string, value: FieldValue, style: ElementStyle): string {
  const { quotes, isJson } = style;
  const name = isJson ? JSON.stringify(key) : key;
  if (typeof value !== "string") return `${name}: ${formatReviewMapping(value, style)}`;
  return `${name}: ${formatYamlText(value, { quotes: isJson ? "double" : (quotes[key] ?? "plain"), isFlow: true })}`;
}

/** Formats a review on one line: `{ on: 2026-11-23, by: lena@acme.example }`. */
function formatReviewMapping({ on, by, reason }: ElementReview, style: ElementStyle): string {
  const fields = reason === undefined ? { on, by } : { on, by, reason };
  const pairs = Object.entries(fields).map(([key, text]) => formatFlowPair(key, text, { ...style, quotes: {} }));
  return style.isJson ? `{${pairs.join(", ")}}` : `{ ${pairs.join(", ")} }`;
}

function getJsonQuotes(): Record<string, QuoteStyle> {
  return Object.fromEntries(KEY_ORDER.map((key) => [key, "double" as const]));
}

function sortByKeyOrder(element: Readonly<Record<string, FieldValue>>): [key: string, text: FieldValue][] {
  return Object.entries(element).sort(([a], [b]) => getKeyRank(a) - getKeyRank(b));
}

function getKeyRank(key: string): number {
  const index = KEY_ORDER.indexOf(key);
  return index < 0 ? KEY_ORDER.length : index;
}

export function getKeyName(key: unknown): string {
  return isScalar(key) ? String(key.source ?? key.value) : "";
}

function getQuoteStyle(node: unknown): QuoteStyle {
  if (!isScalar(node)) return "plain";
  if (node.type === "QUOTE_DOUBLE") return "double";
  return node.type === "QUOTE_SINGLE" ? "single" : "plain";
}

/** Returns the end of a node without trailing comments and newlines. A block scalar ends after its last line. */
export function getNodeEnd(node: Node): number {
  if (isMap(node) && node.flow !== true) {
    const last = node.items.at(-1);
    if (last !== undefined) return getPairEnd(last as Pair);
  }
  if (isSeq(node) && node.flow !== true) {
    const last = node.items.at(-1);
    if (last !== undefined) return getNodeEnd(last as Node);
  }
  return getNodeRange(node)[1];
}

function getPairEnd({ key, value }: Pair): number {
  return getNodeEnd((value ?? key) as Node);
}

/** Returns the offset after the line on which a pair ends, including its comment. */
function getPairLineEnd(source: string, pair: Pair): number {
  const end = getPairEnd(pair);
  return source[end - 1] === "\n" ? end : findLineEnd(source, end);
}

export function findLineEnd(source: string, offset: number): number {
  const end = source.indexOf("\n", offset);
  return end < 0 ? source.length : end + 1;
}

export function countLines(text: string, startOffset: number, endOffset: number): number {
  let count = 0;
  for (
    let offset = text.indexOf("\n", startOffset);
    offset >= 0 && offset < endOffset;
    offset = text.indexOf("\n", offset + 1)
  )
    count += 1;
  return count;
}

export function getNodeRange(node: Node): readonly [start: number, end: number] {
  const [start = 0, end = start] = node.range ?? [];
  return [start, end];
}

export function getColumn(source: string, offset: number): number {
  return offset - (source.lastIndexOf("\n", offset - 1) + 1);
}

export function replaceRange(text: string, startOffset: number, endOffset: number, replacement: string): string {
  return text.slice(0, startOffset) + replacement + text.slice(endOffset);
}
