import { isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap } from "yaml";
import { ELEMENT_FIELD_NAMES, type ElementValue } from "./element-fields";
import type { Reviewed } from "./settings-schema";
import { type TextStyle, yamlComment, yamlText } from "./yaml-text";

/** The formatting of an element. */
export interface ElementStyle {
  /** The key of the declared value: `value`, or `email` for a VIP. */
  readonly subjectKey: "value" | "email";
  /** The column of the dash, from 0. */
  readonly column: number;
  /** The width from the dash to the content: `2` in `- evil.example`. */
  readonly dashWidth: number;
  /** Whether an element with only a value is written in short form: `- evil.example`. */
  readonly isShort: boolean;
  /** Whether an element with more keys is written in braces. */
  readonly isFlow: boolean;
  /** The quoting of texts, by key. */
  readonly quotes: Readonly<Record<string, Quotes>>;
  /** Whether keys are quoted, as in JSON. */
  readonly isJson: boolean;
  readonly lineEnd: string;
}

type Quotes = NonNullable<TextStyle["quotes"]>;

/** The value of an element's key: a text or a review. */
export type Said = ElementValue | Reviewed;

/** The order of keys in an element. */
const KEYS: readonly string[] = ["value", "email", ...ELEMENT_FIELD_NAMES, "reviewed"];

/** Returns the style of an existing element. */
export function styleOf(node: unknown, source: string, base: ElementStyle): ElementStyle {
  const text = isMap(node) ? node.get(base.subjectKey, true) : node;
  const quotes = Object.fromEntries(
    isMap(node)
      ? node.items.map(({ key, value }) => [keyName(key), quotesOf(value)])
      : [[base.subjectKey, quotesOf(text)]],
  );
  const subjectQuotes = quotes[base.subjectKey] ?? "plain";
  const firstKey = isMap(node) ? node.items[0]?.key : undefined;
  const isJson = isScalar(firstKey) ? quotesOf(firstKey) === "double" : base.isJson;
  const start = rangeOf(node as Node)[0];
  const lineStart = source.lastIndexOf("\n", start - 1) + 1;
  const dash = /^( *)(- +)/.exec(source.slice(lineStart, start));
  return {
    ...base,
    ...(dash === null ? {} : { column: dash[1]?.length ?? 0, dashWidth: dash[2]?.length ?? 2 }),
    isShort: !isMap(node),
    isFlow: isMap(node) ? node.flow === true : base.isFlow,
    // Other texts keep the quoting of the same key. Without one, only JSON is quoted.
    quotes: { ...(isJson ? jsonQuotes() : {}), ...quotes, [base.subjectKey]: subjectQuotes },
    isJson,
  };
}

/** Formats an element in block style, with its note above. */
export function blockElement(
  element: Readonly<Record<string, Said>>,
  note: string | undefined,
  style: ElementStyle,
): string {
  const { column, dashWidth, subjectKey, isShort, isFlow, quotes, lineEnd } = style;
  const pad = " ".repeat(column);
  const dash = `${pad}-${" ".repeat(dashWidth - 1)}`;
  const entries = inKeyOrder(element);
  const above = note === undefined ? "" : yamlComment(note, column, lineEnd);
  const [first] = entries;
  if (entries.length === 1 && isShort && first?.[0] === subjectKey) {
    return `${above}${dash}${yamlText(String(first[1]), { quotes: quotes[subjectKey] ?? "plain" })}${lineEnd}`;
  }
  if (isFlow) return `${above}${dash}${flowElement(element, style)}${lineEnd}`;
  const inner = column + dashWidth;
  const lines = entries.map(([key, text], index) => {
    const start = index === 0 ? dash : " ".repeat(inner);
    return start + pairText(key, text, { ...style, column: inner });
  });
  return above + lines.map((line) => line + lineEnd).join("");
}

/** Formats an element in flow style. */
export function flowElement(element: Readonly<Record<string, Said>>, style: ElementStyle): string {
  const { subjectKey, quotes, isShort, isJson } = style;
  const entries = inKeyOrder(element);
  const [first] = entries;
  if (entries.length === 1 && isShort && first?.[0] === subjectKey) {
    return yamlText(String(first[1]), { quotes: quotes[subjectKey] ?? "plain", inFlow: true });
  }
  const pairs = entries.map(([key, text]) => flowPair(key, text, style));
  return isJson ? `{${pairs.join(", ")}}` : `{ ${pairs.join(", ")} }`;
}

/**
 * Sets a key of the only element in a text, or removes the key if `to` is undefined. Everything else stays unchanged.
 *
 * @param node the element in that text.
 */
export function setInElement(
  source: string,
  node: Node,
  key: string,
  to: Said | undefined,
  base: ElementStyle,
): string {
  const style = styleOf(node, source, base);
  if (isMap(node)) {
    return node.flow === true
      ? setInFlowMap(source, node, key, to, style)
      : setInBlockMap(source, node, key, to, style);
  }
  const [start] = rangeOf(node);
  const end = endOf(node);
  const isBlock = source[end - 1] === "\n";
  const written = source.slice(start, end);
  const inFlow = style.isFlow;
  const subject =
    isBlock || written.includes("\n")
      ? yamlText(String((node as Scalar).value), { quotes: "double", inFlow })
      : written;
  if (key === style.subjectKey) {
    if (to === undefined) return source;
    const text = yamlText(String(to), { quotes: style.quotes[key] ?? "plain", inFlow });
    return splice(source, start, end, text + (isBlock ? style.lineEnd : ""));
  }
  if (to === undefined) return source;
  if (inFlow) {
    const name = style.isJson ? JSON.stringify(style.subjectKey) : style.subjectKey;
    const pairs = `${name}: ${subject}, ${flowPair(key, to, style)}`;
    return splice(source, start, end, style.isJson ? `{${pairs}}` : `{ ${pairs} }`);
  }
  const column = columnOf(source, start);
  const long = splice(source, start, end, `${style.subjectKey}: ${subject}${isBlock ? style.lineEnd : ""}`);
  const at = lineEndAfter(long, start);
  return splice(
    long,
    at,
    at,
    `${" ".repeat(column)}${pairText(key, to, { ...style, column })}${style.lineEnd}`,
  );
}

function setInBlockMap(
  source: string,
  map: YAMLMap,
  key: string,
  to: Said | undefined,
  style: ElementStyle,
): string {
  const at = map.items.findIndex((pair) => keyName(pair.key) === key);
  const pair = map.items[at];
  const column = columnOf(source, rangeOf(map)[0]);
  if (pair === undefined) {
    if (to === undefined) return source;
    const before = pairBefore(map, key);
    const place = before === undefined ? source.length : afterLineOf(source, before);
    return splice(
      source,
      place,
      place,
      `${" ".repeat(column)}${pairText(key, to, { ...style, column })}${style.lineEnd}`,
    );
  }
  const end = endOfPair(pair);
  if (to !== undefined) {
    if (typeof to !== "string") return withMark(source, pair, to, style);
    if (!isScalar(pair.value) || pair.value.range == null) return source;
    const [start] = pair.value.range;
    const wasBlock = end > start && source[end - 1] === "\n";
    const text = yamlText(to, { quotes: quotesOf(pair.value) });
    const isEmpty = end === start;
    return splice(source, start, end, (isEmpty ? " " : "") + text + (wasBlock ? style.lineEnd : ""));
  }
  const next = map.items[at + 1];
  const start = rangeOf(pair.key as Node)[0];
  const after = afterLineOf(source, pair);
  if (at > 0) return splice(source, source.lastIndexOf("\n", start - 1) + 1, after, "");
  if (next === undefined) return source;
  const nextStart = rangeOf(next.key as Node)[0];
  const between = source.slice(after, nextStart);
  // The next key moves behind the dash. Comments in between leave the dash alone on its line.
  if (between.trim() === "") return splice(source, start, nextStart, "");
  const behindDash = source.slice(0, start).trimEnd().length;
  return splice(source, behindDash, after, style.lineEnd);
}

/** Returns the pair after which a new key belongs. */
function pairBefore({ items }: YAMLMap, key: string): Pair | undefined {
  return items.findLast((one) => rank(keyName(one.key)) < rank(key)) ?? items.at(-1);
}

/** Replaces a review and keeps its trailing comment. */
function withMark(source: string, pair: Pair, to: Reviewed, style: ElementStyle): string {
  const [, keyEnd] = rangeOf(pair.key as Node);
  const colon = source.indexOf(":", keyEnd) + 1;
  return splice(source, colon, Math.max(colon, endOfPair(pair)), ` ${markText(to, style)}`);
}

function setInFlowMap(
  source: string,
  map: YAMLMap,
  key: string,
  to: Said | undefined,
  style: ElementStyle,
): string {
  const at = map.items.findIndex((pair) => keyName(pair.key) === key);
  const pair = map.items[at];
  if (pair === undefined) {
    if (to === undefined) return source;
    const before = pairBefore(map, key);
    const place = before === undefined ? rangeOf(map)[0] + 1 : endOfPair(before);
    return splice(source, place, place, `, ${flowPair(key, to, style)}`);
  }
  const [start] = rangeOf(pair.key as Node);
  const end = endOfPair(pair);
  if (to !== undefined) {
    if (typeof to !== "string") return withMark(source, pair, to, style);
    const [valueStart] = rangeOf(pair.value as Node);
    const quotes = quotesOf(pair.value);
    const text = yamlText(to, { quotes: style.isJson ? "double" : quotes, inFlow: true });
    return splice(source, valueStart, end, (valueStart === end ? " " : "") + text);
  }
  return withoutFlowItem(source, start, end, at === 0 ? undefined : endOfPair(map.items[at - 1] as Pair));
}

/** Removes an item from a flow sequence, with its comma and the lines and comments that only it uses. */
export function withoutFlowItem(
  source: string,
  start: number,
  end: number,
  previousEnd: number | undefined,
): string {
  const comma = commaAfter(source, end);
  let from = start;
  let until = comma === undefined ? end : comma + 1;
  let result = source;
  if (comma === undefined && previousEnd !== undefined) {
    const before = commaAfter(source, previousEnd);
    if (
      before !== undefined &&
      source.slice(before + 1, start).trim() === "" &&
      !source.slice(before, start).includes("\n")
    ) {
      return splice(source, before, end, "");
    }
    if (before !== undefined) {
      result = splice(source, before, before + 1, "");
      from -= 1;
      until -= 1;
    }
  }
  const lineStart = result.lastIndexOf("\n", from - 1) + 1;
  const lineEnd = lineEndAfter(result, until);
  const isAlone =
    lineStart > 0 &&
    result.slice(lineStart, from).trim() === "" &&
    /^\s*(?:#.*)?\r?\n?$/.test(result.slice(until, lineEnd));
  if (isAlone) return splice(result, withCommentsAbove(result, lineStart), lineEnd, "");
  const spaces = /^ */.exec(result.slice(until))?.[0].length ?? 0;
  return splice(result, from, until + (comma === undefined ? 0 : spaces), "");
}

/** Returns the start of the comment lines directly above a line with the same indentation. */
function withCommentsAbove(source: string, lineStart: number): number {
  const indent = /^[ \t]*/.exec(source.slice(lineStart))?.[0].length ?? 0;
  let at = lineStart;
  while (at > 0) {
    const above = source.lastIndexOf("\n", at - 2) + 1;
    const line = source.slice(above, at);
    // The first line contains the bracket.
    if (above === 0 || !/^[ \t]*#/.test(line) || line.search(/#/) !== indent) break;
    at = above;
  }
  return at;
}

/** Returns the offset of the next comma, if only white space and comments precede it. */
export function commaAfter(source: string, at: number): number | undefined {
  const [skipped = ""] = /^(?:\s|(?<=\s)#.*)*/.exec(source.slice(at)) ?? [];
  const place = at + skipped.length;
  return source[place] === "," ? place : undefined;
}

function pairText(key: string, text: Said, style: ElementStyle): string {
  const quotes = style.quotes[key] ?? "plain";
  const name = style.isJson ? JSON.stringify(key) : key;
  if (typeof text !== "string") return `${name}: ${markText(text, style)}`;
  return `${name}: ${yamlText(text, { quotes })}`;
}

function flowPair(key: string, text: Said, style: ElementStyle): string {
  const { quotes, isJson } = style;
  const name = isJson ? JSON.stringify(key) : key;
  if (typeof text !== "string") return `${name}: ${markText(text, style)}`;
  return `${name}: ${yamlText(text, { quotes: isJson ? "double" : (quotes[key] ?? "plain"), inFlow: true })}`;
}

/** Formats a review on one line: `{ on: 2026-11-23, by: lena@acme.example }`. */
function markText({ on, by, reason }: Reviewed, style: ElementStyle): string {
  const said = reason === undefined ? { on, by } : { on, by, reason };
  const pairs = Object.entries(said).map(([key, text]) => flowPair(key, text, { ...style, quotes: {} }));
  return style.isJson ? `{${pairs.join(", ")}}` : `{ ${pairs.join(", ")} }`;
}

function jsonQuotes(): Record<string, Quotes> {
  return Object.fromEntries(KEYS.map((key) => [key, "double" as const]));
}

function inKeyOrder(element: Readonly<Record<string, Said>>): [key: string, text: Said][] {
  return Object.entries(element).sort(([one], [other]) => rank(one) - rank(other));
}

function rank(key: string): number {
  const at = KEYS.indexOf(key);
  return at < 0 ? KEYS.length : at;
}

/** Returns the key of a pair as text. */
export function keyName(key: unknown): string {
  return isScalar(key) ? String(key.source ?? key.value) : "";
}

function quotesOf(node: unknown): Quotes {
  if (!isScalar(node)) return "plain";
  if (node.type === "QUOTE_DOUBLE") return "double";
  return node.type === "QUOTE_SINGLE" ? "single" : "plain";
}

/** Returns the end of a node without trailing comments and newlines. A block scalar ends after its last line. */
export function endOf(node: Node): number {
  if (isMap(node) && node.flow !== true) {
    const last = node.items.at(-1);
    if (last !== undefined) return endOfPair(last as Pair);
  }
  if (isSeq(node) && node.flow !== true) {
    const last = node.items.at(-1);
    if (last !== undefined) return endOf(last as Node);
  }
  return rangeOf(node)[1];
}

function endOfPair({ key, value }: Pair): number {
  return endOf((value ?? key) as Node);
}

/** Returns the offset after the line on which a pair ends, including its comment. */
function afterLineOf(source: string, pair: Pair): number {
  const end = endOfPair(pair);
  return source[end - 1] === "\n" ? end : lineEndAfter(source, end);
}

/** Returns the offset after the end of the line. */
export function lineEndAfter(source: string, at: number): number {
  const end = source.indexOf("\n", at);
  return end < 0 ? source.length : end + 1;
}

/** Counts the newlines in a range. */
export function linesIn(text: string, from: number, until: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at >= 0 && at < until; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

export function rangeOf(node: Node): readonly [start: number, end: number] {
  const [start = 0, end = start] = node.range ?? [];
  return [start, end];
}

export function columnOf(source: string, at: number): number {
  return at - (source.lastIndexOf("\n", at - 1) + 1);
}

export function splice(text: string, from: number, until: number, by: string): string {
  return text.slice(0, from) + by + text.slice(until);
}
