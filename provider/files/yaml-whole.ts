import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { printable, quote } from "../settings/text";
import type { Finding, Place } from "./finding";
import { type Layout, layoutOf } from "./yaml-layout";

/** Longer files are a mistake of another kind. */
export const MAX_CHARACTERS = 16 * 1024 * 1024;

/** Deeper than any settings file is. */
const MAX_DEPTH = 32;

/** Texts, lists and mappings: far more than any settings file has, and as many as take a gigabyte of memory. */
export const MAX_VALUES = 1_000_000;

/** The parser takes ever longer for one more mistake. */
const MAX_MISTAKES = 1_000;

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

/** Whether other tools read a file as JSON, by its name: then it has to be JSON, and not only YAML. */
export function isJsonFile(file: string): boolean {
  return /\.json$/i.test(file);
}

/** Finds what YAML takes and JSON does not: trailing commas, comments, keys without quotes. */
function refuseInvalidJson(text: string, refuse: Refuse): void {
  const bom = text.startsWith("\uFEFF") ? 1 : 0;
  const json = text.slice(bom);
  const why = jsonError(json);
  if (why === undefined) return;
  // The parser doesn't always tell the place: it is the end of the shortest beginning that nothing can complete.
  let [low, high] = [0, json.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isCompletable(json.slice(0, middle + 1))) low = middle + 1;
    else high = middle;
  }
  const reason = why
    .replace(/ in JSON at position \d+.*$/, "")
    .replace(/, [^,]*"[^"]*" is not valid JSON$/s, "");
  refuse("json-syntax", `is not valid JSON: ${printable(reason)}`, low + bom);
}

function jsonError(json: string): string | undefined {
  try {
    JSON.parse(json);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function isCompletable(beginning: string): boolean {
  const why = jsonError(beginning);
  if (why === undefined || /end of JSON|Unterminated/.test(why)) return true;
  return Number(/at position (\d+)/.exec(why)?.[1] ?? 0) >= beginning.length;
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

type Refuse = (code: string, message: string, start?: number, end?: number) => void;

function parse(text: string, refuse: Refuse, values: number): Document.Parsed {
  const read = (source: string, others = values): Document.Parsed[] => {
    const composer = new Composer({
      prettyErrors: false,
      // The parser compares each key with each.
      uniqueKeys: false,
      version: "1.2",
      schema: "core",
      merge: false,
      intAsBigInt: false,
    });
    return [...composer.compose(boundedTokens(source, others))] as Document.Parsed[];
  };
  const nothing = (): Document.Parsed => read("null", 0)[0] as Document.Parsed;
  if (text.length > MAX_CHARACTERS) {
    refuse("yaml-too-large", `is larger than ${MAX_CHARACTERS} characters; split it with \`include\``, 0);
    return nothing();
  }
  const odd = ODD.exec(text);
  if (odd !== null) {
    refuse(...oddity(odd[0]), odd.index, odd.index + 1);
    return nothing();
  }
  let documents: Document.Parsed[];
  try {
    documents = read(text);
  } catch (error) {
    if (!(error instanceof BoundsError)) throw error;
    refuse(error.code, error.message, error.offset);
    return nothing();
  }
  const [document, second] = documents;
  if (document?.directives?.yaml.explicit === true || /^%/.test(text)) {
    refuse("yaml-syntax", "begins with a directive (`%`), which changes how it is read; take it away", 0);
    return document ?? nothing();
  }
  if (document === undefined) return nothing();
  const errors = documents.flatMap((one) => [...one.errors, ...one.warnings]);
  // One mistake makes several errors; the first of a line is the one to mend.
  let told: number | undefined;
  for (const { code, message, pos } of errors.toSorted((one, other) => one.pos[0] - other.pos[0])) {
    const line = text.lastIndexOf("\n", pos[0] - 1);
    if (line !== told) refuse(...explained(code, message, text, pos), ...pos);
    told = line;
  }
  if (second !== undefined) {
    const [start = 0] = second.range;
    refuse("yaml-documents", "holds more than one document (`---`); write one file for each", start);
  }
  return document;
}

/** More than is read of one file. */
class BoundsError extends Error {
  readonly code: string;
  readonly offset: number;

  constructor(code: string, message: string, offset: number) {
    super(message);
    this.code = code;
    this.offset = offset;
  }
}

/**
 * What the parser makes of a text, piece by piece, so that a small file can't take all memory: it ends where that is nested too
 * deep, or holds too much.
 *
 * @throws {BoundsError}
 */
function* boundedTokens(source: string, others: number): Generator<CST.Token> {
  const parser = new Parser();
  let values = others;
  let mistakes = 0;
  for (const lexeme of new Lexer().lex(source)) {
    const sign = lexeme[0] ?? "";
    if (VALUES.has(sign)) values += 1;
    else if (MISTAKES.has(sign)) mistakes += 1;
    for (const token of parser.next(lexeme)) {
      if (token.type === "error") mistakes += 1;
      yield token;
    }
    // A level is one or two of the parser's own.
    if (parser.stack.length > 2 * MAX_DEPTH + 4) {
      throw new BoundsError("yaml-syntax", `is nested more than ${MAX_DEPTH} deep`, parser.offset);
    }
    if (values > MAX_VALUES) {
      const message = `holds more than ${MAX_VALUES.toLocaleString("en-US")} values; split it with \`include\``;
      throw new BoundsError("yaml-too-large", message, 0);
    }
    if (mistakes > MAX_MISTAKES) {
      const message = `is no valid YAML: it has more than ${MAX_MISTAKES.toLocaleString("en-US")} mistakes up to here`;
      throw new BoundsError("yaml-syntax", message, parser.offset);
    }
  }
  yield* parser.end();
}

/** What a piece begins with that begins a text, a list, a mapping or a document. */
const VALUES: ReadonlySet<string> = new Set(["\x1f", "[", "{", '"', "'", "|", ">", "?", "-"]);

/** A tag, an anchor, an alias or a directive: each is a mistake. */
const MISTAKES: ReadonlySet<string> = new Set(["!", "&", "*", "%"]);

/** The parser's own errors, with what to write instead. */
function explained(
  code: string,
  message: string,
  text: string,
  [start]: readonly [number, number],
): [code: string, message: string] {
  const line = text.slice(text.lastIndexOf("\n", start - 1) + 1).split("\n", 1)[0] ?? "";
  if (code === "TAB_AS_INDENT" || /^ *\t/.test(line)) {
    return ["yaml-tab", "is indented with a tab, which YAML doesn't allow; indent with spaces"];
  }
  const [, key, rest] =
    /^([a-z]\w*):(?!\/\/)(\S.*)$/i.exec(text.slice(start).split(/\r?\n/, 1)[0] ?? "") ?? [];
  if (key !== undefined && /^(?:MISSING_CHAR|MULTILINE_IMPLICIT_KEY)$/.test(code)) {
    return ["yaml-syntax", `has no space after the colon; write ${quote(`${key}: ${rest}`)}`];
  }
  const [first = ""] = message.split("\n");
  return ["yaml-syntax", `is no valid YAML: ${first.replace(/ at line \d+, column \d+:?$/, "")}`];
}

/** What no two tools read alike, or what a person does not see. */
const ODD = /(?![\t\n\r])\p{Cc}|\r(?!\n)|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

function oddity(character: string): [code: string, message: string] {
  if (character === "\0") {
    return ["yaml-syntax", "holds a byte of 0, as a file of another encoding does; save it as UTF-8"];
  }
  if (character === "\r") {
    return [
      "yaml-syntax",
      "ends a line with a carriage return alone; save the file with the line ends of Unix or Windows",
    ];
  }
  return [
    "yaml-hidden",
    `holds an invisible character, ${printable(character)}, which can make a line look like another; take it out`,
  ];
}

/**
 * The content as plain data, and on the way what is valid YAML and yet a trap: what is read as something else than it
 * looks, or can't be judged line by line. Every key is a text and an own property, `__proto__` too.
 */
function plain(contents: unknown, refuse: Refuse, lineOf: (offset: number) => number): unknown {
  const at = (code: string, message: string, node: unknown): void => {
    const [start, end] = (isNode(node) ? node.range : undefined) ?? [];
    refuse(code, message, start, end);
  };
  const keyOf = (pair: Pair, keys: Map<string, number>, within: string | undefined): string => {
    const { key } = pair;
    const text = keyText(pair);
    if (isScalar(key)) {
      // The day of a decision: our own word, which no other tool is to read.
      trapsOfNode(key, within === "reviewed" && text === "on");
      if (typeof key.value !== "string" && text !== "") {
        const message = `${printable(text)} is read as ${JSON.stringify(key.value)} by YAML, and not as a text; write ${JSON.stringify(text)} in quotes`;
        at("yaml-not-text", message, key);
      }
    } else if (isNode(key)) at("yaml-syntax", "is no simple key; write a word and a colon", key);
    if (text === "<<") {
      at(
        "yaml-anchor",
        "<< merges what is written elsewhere; write it out, so that a review sees it here",
        key,
      );
    } else if (keys.has(text)) {
      const first = lineOf(keys.get(text) ?? 0);
      const message = `${quote(text)} is written twice here, first in line ${first}, and only one could count; keep one`;
      at("yaml-duplicate-key", message, key);
    } else keys.set(text, (isNode(key) ? key.range?.[0] : undefined) ?? 0);
    return text;
  };
  const trapsOfNode = (node: Scalar | YAMLMap | YAMLSeq, isOurWord = false): void => {
    if (node.anchor !== undefined) {
      const message = `&${node.anchor} is an anchor; take it away and write out what refers to it`;
      at("yaml-anchor", message, node);
    }
    if (node.tag !== undefined) {
      const message = `has the tag ${quote(node.tag)}; take it away, and write a text in quotes`;
      at("yaml-tag", message, node);
    }
    if (isScalar(node)) {
      const message = isOurWord ? undefined : booleanOf(node);
      if (message !== undefined) at("yaml-boolean", message, node);
      const number = numberOf(node);
      if (number !== undefined) at("yaml-not-text", number, node);
    }
  };
  const read = (node: unknown, depth: number, within?: string): unknown => {
    if (isAlias(node)) {
      const message = `*${node.source} stands for what is written elsewhere; write it out, so that a review sees it in this line`;
      at("yaml-anchor", message, node);
      return null;
    }
    if (isScalar(node)) {
      trapsOfNode(node);
      return node.value;
    }
    if (!isMap(node) && !isSeq(node)) return null;
    trapsOfNode(node);
    if (depth >= MAX_DEPTH) {
      at("yaml-syntax", `is nested more than ${MAX_DEPTH} deep`, node);
      return null;
    }
    if (isSeq(node)) return node.items.map((item) => read(item, depth + 1));
    const keys = new Map<string, number>();
    return Object.fromEntries(
      node.items.map(
        (pair) => [keyOf(pair, keys, within), read(pair.value, depth + 1, keyText(pair))] as const,
      ),
    );
  };
  return read(contents, 0);
}

function keyText({ key }: Pair): string {
  return isScalar(key) ? String(key.source ?? key.value) : String(key);
}

/** By YAML 1.1 these are numbers: with underscores, or to the base of sixty. */
const OLD_NUMBER = /^[-+]?(?:\d[\d_]*_[\d_]*(?:\.[\d_]*)?|\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?)$/;

function numberOf(node: Scalar): string | undefined {
  if (node.type !== "PLAIN" || typeof node.value !== "string" || !OLD_NUMBER.test(node.value))
    return undefined;
  return `${node.value} is read as a text by some tools and as a number by others; write ${JSON.stringify(node.value)} in quotes`;
}

/** By YAML 1.1, which many tools still read, these are true and false. */
const BOOLEAN = /^(?:y|yes|n|no|on|off)$/i;

function booleanOf(node: Scalar): string | undefined {
  if (node.type !== "PLAIN" || typeof node.value !== "string" || node.value.length > 3) return undefined;
  if (!BOOLEAN.test(node.value)) return undefined;
  const meant = /^(?:y|yes|on)$/i.test(node.value) ? "true" : "false";
  return `${node.value} is read as a text by some tools and as ${meant} by others; write ${JSON.stringify(node.value)} in quotes for the text, or ${meant}`;
}
