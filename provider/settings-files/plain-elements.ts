import { countLines, findLineEnd } from "./edit-element";
import type { SectionName } from "./editable-section";
import { ELEMENT_FIELD_NAMES } from "./element-fields";

/** A list element that all YAML parsers read alike: a dash and a text, or known keys with a text on each line. */
export interface PlainElement {
  /** The start of the dash's line, and the end of the last line with its newline. */
  readonly lineStart: number;
  readonly lineEnd: number;
  /** The first line, from 1. */
  readonly line: number;
  /** From the content after the dash to the last character of content. */
  readonly start: number;
  readonly end: number;
  /** The location of the value or mailbox: its line, first column and exclusive end column, from 1. */
  readonly subjectLine: number;
  readonly subjectColumn: number;
  readonly subjectEndColumn: number;
  readonly data: string | Readonly<Record<string, PlainValue>>;
}

/** A text, or a review or times as this package writes them. */
type PlainValue = string | Readonly<Record<string, string>>;

export interface PlainSection {
  readonly name: SectionName;
  /** The offset of its key in the remaining text. */
  readonly keyStart: number;
  /** The column of the dashes, from 0. */
  readonly column: number;
  /** The offset of its last plain lines in the remaining text. */
  readonly lastGapOffset: number;
  readonly elements: readonly PlainElement[];
}

/** The position of removed lines in the remaining text, and the amount removed up to there. */
export interface Gap {
  readonly at: number;
  readonly line: number;
  readonly characters: number;
  readonly lines: number;
}

/** A text without its plain elements. */
export interface PlainScanResult {
  readonly remainingText: string;
  readonly sections: readonly PlainSection[];
  readonly gaps: readonly Gap[];
  /** The number of removed texts, mappings and dashes. */
  readonly removedValueCount: number;
}

/**
 * Removes the plain elements of a settings file. Almost all lines of a long file are plain, and a full YAML parser is a hundred times
 * slower. The remaining text shows whether they were where they seem to be.
 *
 * @param maxValues the maximum number of values to remove; a text with more is left unchanged.
 */
export function extractPlainElements(text: string, maxValues = Number.POSITIVE_INFINITY): PlainScanResult {
  const scan = new PlainElementScanner(text, maxValues);
  for (SECTION_HEADER.lastIndex = 0; ; ) {
    const header = SECTION_HEADER.exec(text);
    if (header === null) break;
    SECTION_HEADER.lastIndex = Math.max(
      scan.scanSection(header[1] as SectionName, header.index, SECTION_HEADER.lastIndex),
      SECTION_HEADER.lastIndex,
    );
  }
  return scan.isOverLimit ? { remainingText: text, sections: [], gaps: [], removedValueCount: 0 } : scan.buildResult();
}

class PlainElementScanner {
  readonly #text: string;
  readonly #maxValues: number;
  readonly #sections: PlainSection[] = [];
  readonly #gaps: Gap[] = [];
  readonly #remainingPieces: string[] = [];
  #values = 0;
  /** The offset up to which the text is processed, and its number of lines. */
  #position = 0;
  #positionLine = 0;
  #remainingLength = 0;
  #removedLength = 0;
  #removedLines = 0;

  constructor(text: string, maxValues: number) {
    this.#text = text;
    this.#maxValues = maxValues;
  }

  get isOverLimit(): boolean {
    return this.#values > this.#maxValues;
  }

  buildResult(): PlainScanResult {
    this.#remainingPieces.push(this.#text.slice(this.#position));
    return {
      remainingText: this.#remainingPieces.join(""),
      sections: this.#sections,
      gaps: this.#gaps,
      removedValueCount: this.#values,
    };
  }

  /** Scans the lines of a section; returns their end. */
  scanSection(name: SectionName, keyStart: number, from: number): number {
    const text = this.#text;
    const key = this.#remainingLength + keyStart - this.#position;
    const elements: PlainElement[] = [];
    let at = from;
    let line = this.#positionLine + countLines(text, this.#position, from) + 1;
    let column: number | undefined;
    let run: PlainElement[] = [];
    const flushRun = (): void => {
      const [first, last] = [run[0], run.at(-1)];
      if (first !== undefined && last !== undefined) this.#extractRun(first, last);
      run = [];
    };
    while (at < text.length && !this.isOverLimit) {
      const scanned = scanElement(text, at, line, name);
      if (scanned !== undefined && (column === undefined || column === scanned.column)) {
        column = scanned.column;
        elements.push(scanned.element);
        run.push(scanned.element);
        this.#values += scanned.values;
        at = scanned.element.lineEnd;
        line = scanned.nextLine;
        continue;
      }
      // Blank lines and comments belong to the surrounding elements. After another line, they may be part of its value.
      const [empty = ""] = matchAtOffset(EMPTY_LINE, text, at) ?? [];
      if (empty !== "") {
        at += empty.length;
        line += 1;
        continue;
      }
      const [, indent = "", firstCharacter = ""] = matchAtOffset(LINE_START, text, at) ?? [];
      if (indent.length === 0 && matchAtOffset(DASH_ALONE, text, at) === null) break;
      if (column === undefined && firstCharacter === "-") column = indent.length;
      flushRun();
      // Continue at the next dash of the section, which may start a plain element.
      do {
        at = findLineEnd(text, at);
        line += 1;
      } while (at < text.length && !isDashOrKey(text, at, column));
    }
    flushRun();
    if (elements.length > 0 && column !== undefined) {
      this.#sections.push({
        name,
        keyStart: key,
        column,
        lastGapOffset: this.#gaps.at(-1)?.at ?? 0,
        elements,
      });
    }
    return at;
  }

  #extractRun(first: PlainElement, last: PlainElement): void {
    const text = this.#text;
    this.#remainingPieces.push(text.slice(this.#position, first.lineStart));
    this.#remainingLength += first.lineStart - this.#position;
    const lines = countLines(text, first.lineStart, last.lineEnd);
    this.#removedLength += last.lineEnd - first.lineStart;
    this.#removedLines += lines;
    this.#gaps.push({
      at: this.#remainingLength,
      line: first.line - this.#removedLines + lines,
      characters: this.#removedLength,
      lines: this.#removedLines,
    });
    this.#position = last.lineEnd;
    this.#positionLine = first.line - 1 + lines;
  }
}

interface ScannedElement {
  readonly column: number;
  readonly element: PlainElement;
  readonly nextLine: number;
  readonly values: number;
}

/** Returns the plain element at an offset; undefined if there is none. */
function scanElement(
  text: string,
  startOffset: number,
  line: number,
  section: SectionName,
): ScannedElement | undefined {
  const dash = matchAtOffset(ELEMENT_LINE, text, startOffset);
  if (dash === null) return scanFlowElement(text, startOffset, line, section);
  const [matchText, indent = "", spacing = "", key, rawText = ""] = dash;
  const column = indent.length;
  const contentColumn = column + 1 + spacing.length;
  const valueKey = section === "vips" ? "email" : "value";
  const start = startOffset + contentColumn;
  const textColumn =
    contentColumn +
    (key === undefined ? 0 : matchText.indexOf(rawText, contentColumn + key.length + 1) - contentColumn);
  const firstValue = parsePlainText(rawText);
  if (firstValue === undefined) return undefined;
  let subject = key === undefined || key === valueKey ? { line, column: textColumn, written: rawText } : undefined;
  const data: Record<string, PlainValue> = key === undefined ? {} : { [key]: firstValue };
  let end = startOffset + textColumn + rawText.length;
  let endOffset = startOffset + matchText.length;
  let nextLine = line + 1;
  let count = 1;
  for (let at = endOffset; ; ) {
    const [empty = ""] = matchAtOffset(EMPTY_LINE, text, at) ?? [];
    if (empty !== "") {
      at += empty.length;
      nextLine += 1;
      continue;
    }
    const reviewMatch = key === undefined ? null : matchAtOffset(REVIEW_LINE, text, at);
    if (reviewMatch !== null && reviewMatch[1]?.length === contentColumn) {
      const [reviewLine, , rawText = "", on = "", by = "", reason] = reviewMatch;
      const review = parseReview(on, by, reason);
      if (review === undefined || Object.hasOwn(data, "reviewed")) return undefined;
      data["reviewed"] = review;
      count += 1 + Object.keys(review).length;
      end = at + reviewLine.indexOf(rawText) + rawText.length;
      at += reviewLine.length;
      nextLine += 1;
      endOffset = at;
      continue;
    }
    const pair = key === undefined ? null : matchAtOffset(PAIR_LINE, text, at);
    if (pair === null || pair[1]?.length !== contentColumn) {
      // Deeper indentation continues the element, or is a mistake.
      const [, nextIndent = "", firstCharacter = ""] = matchAtOffset(LINE_START, text, at) ?? [];
      if (firstCharacter !== "" && nextIndent.length > column) return undefined;
      break;
    }
    const [pairText, , name = "", rawValue = ""] = pair;
    const value = parsePlainText(rawValue);
    if (value === undefined || Object.hasOwn(data, name)) return undefined;
    data[name] = value;
    count += 1;
    const valueColumn = pairText.indexOf(rawValue, contentColumn + name.length + 1);
    if (name === valueKey) subject = { line: nextLine, column: valueColumn, written: rawValue };
    end = at + valueColumn + rawValue.length;
    at += pairText.length;
    nextLine += 1;
    endOffset = at;
  }
  if (subject === undefined) return undefined;
  const element: PlainElement = {
    lineStart: startOffset,
    lineEnd: endOffset,
    line,
    start,
    end,
    subjectLine: subject.line,
    subjectColumn: subject.column + 1,
    subjectEndColumn: subject.column + subject.written.length + 1,
    data: key === undefined ? firstValue : data,
  };
  return {
    column,
    element,
    nextLine: line + countLines(text, startOffset, endOffset),
    values: key === undefined ? 2 : 1 + 2 * count,
  };
}

/** Returns the element in braces on one line, as in generated files; undefined if there is none. */
function scanFlowElement(
  text: string,
  startOffset: number,
  line: number,
  section: SectionName,
): ScannedElement | undefined {
  const match = matchAtOffset(FLOW_LINE, text, startOffset);
  if (match === null) return undefined;
  const [matchText, indent = "", spacing = "", content = "", subjectKey = "", rawSubject = "", pairs = ""] = match;
  const [first, last] = match.slice(7);
  const subject = parsePlainText(rawSubject);
  if (subject === undefined || subjectKey !== (section === "vips" ? "email" : "value")) return undefined;
  const data: Record<string, PlainValue> = { [subjectKey]: subject };
  let count = 1;
  for (const [, name = "", rawValue = ""] of pairs.matchAll(FLOW_PAIR)) {
    const value = parsePlainText(rawValue);
    if (value === undefined || Object.hasOwn(data, name)) return undefined;
    data[name] = value;
    count += 1;
  }
  if (first !== undefined) {
    data["seen"] = last === undefined ? { first } : { first, last };
    count += last === undefined ? 2 : 3;
  }
  const lineEnd = startOffset + matchText.length;
  // A deeper line below would be a mistake.
  for (let at = lineEnd; ; ) {
    const [empty = ""] = matchAtOffset(EMPTY_LINE, text, at) ?? [];
    at += empty.length;
    if (empty !== "") continue;
    const [, nextIndent = "", firstCharacter = ""] = matchAtOffset(LINE_START, text, at) ?? [];
    if (firstCharacter !== "" && nextIndent.length > indent.length) return undefined;
    break;
  }
  const contentColumn = indent.length + 1 + spacing.length;
  const subjectColumn = contentColumn + `{ ${subjectKey}: `.length + 1;
  const element: PlainElement = {
    lineStart: startOffset,
    lineEnd,
    line,
    start: startOffset + contentColumn,
    end: startOffset + contentColumn + content.length,
    subjectLine: line,
    subjectColumn,
    subjectEndColumn: subjectColumn + rawSubject.length,
    data,
  };
  return { column: indent.length, element, nextLine: line + 1, values: 1 + 2 * count };
}

/** Returns the value of a plain scalar; undefined if a parser might read another value. */
function parsePlainText(rawText: string): string | undefined {
  const first = rawText[0];
  if (first === '"' || first === "'") return rawText.slice(1, -1);
  const isNumber = first !== undefined && first >= "0" && first <= "9";
  return (isNumber ? NOT_A_NUMBER : NOT_A_KEYWORD).test(rawText) ? rawText : undefined;
}

function parseReview(
  on: string,
  rawBy: string,
  rawReason: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const by = parsePlainText(rawBy);
  if (by === undefined) return undefined;
  if (rawReason === undefined) return { on, by };
  const reason = parsePlainText(rawReason);
  return reason === undefined ? undefined : { on, by, reason };
}

/** A day, an IPv4 address, or text with a letter that occurs in no number format. */
const NOT_A_NUMBER = /^(?:\d{4}-\d\d-\d\d|\d+(?:\.\d+){3,})$|[g-np-wyzG-NP-WYZ]/;

/** Text that no parser reads as a boolean or null. */
const NOT_A_KEYWORD = /^(?!(?:null|true|false|y|yes|n|no|on|off)$)/i;

// The characters of plain texts: no tabs, invisible characters or combining characters.
const LETTERS = "\\u00a1-\\u1fff\\u3040-\\ud7ff";
const PLAIN = `[A-Za-z0-9](?:[!"$-9;-~${LETTERS}]|:(?=[!-~${LETTERS}])|(?<! )#| +(?=[!"$-~${LETTERS}]))*`;
const TEXT = `"[ !#-\\[\\]-~${LETTERS}]*"|'[ -&(-~${LETTERS}]*'|${PLAIN}`;
const LINE_REMAINDER = `(?: +#[ -~${LETTERS}]*| *)(?:\\r?\\n|$)`;
const KEY_PATTERN = ["value", "email", ...ELEMENT_FIELD_NAMES].join("|");

const SECTION_HEADER = new RegExp(`^(vips|allow|deny):${LINE_REMAINDER.replace("|$", "")}`, "gm");
const ELEMENT_LINE = new RegExp(`( *)-( +)(?:(${KEY_PATTERN}): +)?(${TEXT})${LINE_REMAINDER}`, "y");
const PAIR_LINE = new RegExp(`( *)(${KEY_PATTERN}): +(${TEXT})${LINE_REMAINDER}`, "y");
// In braces, only words separated by single spaces.
const WORD = `[\\w.@+/()'${LETTERS}-]+`;
const FLOW_TEXT = `"[ !#-\\[\\]-~${LETTERS}]*"|[A-Za-z0-9](?:${WORD})?(?: ${WORD})*`;
const REVIEW_PATTERN = `\\{ on: (\\d{4}-\\d\\d-\\d\\d), by: (${FLOW_TEXT})(?:, reason: (${FLOW_TEXT}))? \\}`;
const REVIEW_LINE = new RegExp(`( *)reviewed: +(${REVIEW_PATTERN})${LINE_REMAINDER}`, "y");
// The texts in braces that this package writes: without commas, colons and brackets, which are special there.
const FLOW_CHARACTER = `[!"$-+\\--9;-Z\\\\^-z|~${LETTERS}]`;
const FLOW_VALUE = `"[ !#-\\[\\]-~${LETTERS}]*"|[A-Za-z0-9](?:${FLOW_CHARACTER}|(?<! )#| (?=${FLOW_CHARACTER}))*`;
const DAY = "\\d{4}-\\d\\d-\\d\\d";
const FLOW_LINE = new RegExp(
  `( *)-( +)(\\{ (value|email): (${FLOW_VALUE})((?:, (?:${KEY_PATTERN}): (?:${FLOW_VALUE}))*)(?:, seen: \\{ first: (${DAY})(?:, last: (${DAY}))? \\})? \\})${LINE_REMAINDER}`,
  "y",
);
const FLOW_PAIR = new RegExp(`, (${KEY_PATTERN}): (${FLOW_VALUE})`, "g");
const EMPTY_LINE = new RegExp(` *(?:#[ -~${LETTERS}]*)?\\r?\\n`, "y");
/** A dash that starts an element and not a text. */
const DASH_ALONE = /-(?=[ \r\n]|$)/y;
const LINE_START = /([ \t]*)([^\r\n]?)/y;

function matchAtOffset(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Returns whether a line starts an element or ends the section. */
function isDashOrKey(text: string, at: number, column: number | undefined): boolean {
  const [, indent = "", firstCharacter = ""] = matchAtOffset(LINE_START, text, at) ?? [];
  if (firstCharacter === "") return false;
  return indent.length === 0 ? firstCharacter !== "#" : firstCharacter === "-" && indent.length === column;
}
