import { lineEndAfter, linesIn } from "./edit-element";
import type { Section } from "./edit-section";
import { ELEMENT_FIELD_NAMES } from "./element-fields";

/** A list element that all YAML parsers read alike: a dash and a text, or known keys with a text on each line. */
export interface PlainElement {
  /** The start of the dash's line, and the end of the last line with its newline. */
  readonly from: number;
  readonly until: number;
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

/** A text, or a review as this package writes it. */
type PlainValue = string | Readonly<Record<string, string>>;

/** A section with plain elements. */
export interface PlainSection {
  readonly name: Section;
  /** The offset of its key in the remaining text. */
  readonly keyStart: number;
  /** The column of the dashes, from 0. */
  readonly column: number;
  /** The offset of its last plain lines in the remaining text. */
  readonly lastGap: number;
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
export interface WithoutPlain {
  readonly left: string;
  readonly sections: readonly PlainSection[];
  readonly gaps: readonly Gap[];
  /** The number of removed texts, mappings and dashes. */
  readonly values: number;
}

/**
 * Removes the plain elements of a settings file. Almost all lines of a long file are plain, and a full YAML parser is a hundred times
 * slower. The remaining text shows whether they were where they seem to be.
 *
 * @param most the maximum number of values to remove; a text with more is left unchanged.
 */
export function withoutPlainElements(text: string, most = Number.POSITIVE_INFINITY): WithoutPlain {
  const scan = new Scan(text, most);
  for (HEAD.lastIndex = 0; ; ) {
    const head = HEAD.exec(text);
    if (head === null) break;
    HEAD.lastIndex = Math.max(scan.section(head[1] as Section, head.index, HEAD.lastIndex), HEAD.lastIndex);
  }
  return scan.isTooMuch ? { left: text, sections: [], gaps: [], values: 0 } : scan.result();
}

class Scan {
  readonly #text: string;
  readonly #most: number;
  readonly #sections: PlainSection[] = [];
  readonly #gaps: Gap[] = [];
  readonly #left: string[] = [];
  #values = 0;
  /** The offset up to which the text is processed, and its number of lines. */
  #done = 0;
  #doneLines = 0;
  #leftLength = 0;
  #removed = 0;
  #removedLines = 0;

  constructor(text: string, most: number) {
    this.#text = text;
    this.#most = most;
  }

  get isTooMuch(): boolean {
    return this.#values > this.#most;
  }

  result(): WithoutPlain {
    this.#left.push(this.#text.slice(this.#done));
    return { left: this.#left.join(""), sections: this.#sections, gaps: this.#gaps, values: this.#values };
  }

  /** Scans the lines of a section; returns their end. */
  section(name: Section, keyStart: number, from: number): number {
    const text = this.#text;
    const key = this.#leftLength + keyStart - this.#done;
    const elements: PlainElement[] = [];
    let at = from;
    let line = this.#doneLines + linesIn(text, this.#done, from) + 1;
    let column: number | undefined;
    let run: PlainElement[] = [];
    const endRun = (): void => {
      const [first, last] = [run[0], run.at(-1)];
      if (first !== undefined && last !== undefined) this.#takeOut(first, last);
      run = [];
    };
    while (at < text.length && !this.isTooMuch) {
      const read = elementAt(text, at, line, name);
      if (read !== undefined && (column === undefined || column === read.column)) {
        column = read.column;
        elements.push(read.element);
        run.push(read.element);
        this.#values += read.values;
        at = read.element.until;
        line = read.nextLine;
        continue;
      }
      // Blank lines and comments belong to the surrounding elements. After another line, they may be part of its value.
      const [empty = ""] = matchAt(EMPTY, text, at) ?? [];
      if (empty !== "") {
        at += empty.length;
        line += 1;
        continue;
      }
      const [, indent = "", sign = ""] = matchAt(ANY, text, at) ?? [];
      if (indent.length === 0 && matchAt(DASH_ALONE, text, at) === null) break;
      if (column === undefined && sign === "-") column = indent.length;
      endRun();
      // Continue at the next dash of the section, which may start a plain element.
      do {
        at = lineEndAfter(text, at);
        line += 1;
      } while (at < text.length && !isDashOrKey(text, at, column));
    }
    endRun();
    if (elements.length > 0 && column !== undefined) {
      this.#sections.push({ name, keyStart: key, column, lastGap: this.#gaps.at(-1)?.at ?? 0, elements });
    }
    return at;
  }

  #takeOut(first: PlainElement, last: PlainElement): void {
    const text = this.#text;
    this.#left.push(text.slice(this.#done, first.from));
    this.#leftLength += first.from - this.#done;
    const lines = linesIn(text, first.from, last.until);
    this.#removed += last.until - first.from;
    this.#removedLines += lines;
    this.#gaps.push({
      at: this.#leftLength,
      line: first.line - this.#removedLines + lines,
      characters: this.#removed,
      lines: this.#removedLines,
    });
    this.#done = last.until;
    this.#doneLines = first.line - 1 + lines;
  }
}

interface Read {
  readonly column: number;
  readonly element: PlainElement;
  readonly nextLine: number;
  readonly values: number;
}

/** Returns the plain element at an offset; undefined if there is none. */
function elementAt(text: string, from: number, line: number, section: Section): Read | undefined {
  const dash = matchAt(DASH, text, from);
  if (dash === null) return undefined;
  const [whole, indent = "", room = "", key, written = ""] = dash;
  const column = indent.length;
  const inner = column + 1 + room.length;
  const subjectKey = section === "vips" ? "email" : "value";
  const start = from + inner;
  const textColumn = inner + (key === undefined ? 0 : whole.indexOf(written, inner + key.length + 1) - inner);
  const said = saidBy(written);
  if (said === undefined) return undefined;
  let subject = key === undefined || key === subjectKey ? { line, column: textColumn, written } : undefined;
  const data: Record<string, PlainValue> = key === undefined ? {} : { [key]: said };
  let end = from + textColumn + written.length;
  let until = from + whole.length;
  let nextLine = line + 1;
  let count = 1;
  for (let at = until; ; ) {
    const [empty = ""] = matchAt(EMPTY, text, at) ?? [];
    if (empty !== "") {
      at += empty.length;
      nextLine += 1;
      continue;
    }
    const mark = key === undefined ? null : matchAt(MARK, text, at);
    if (mark !== null && mark[1]?.length === inner) {
      const [markText, , written = "", on = "", by = "", reason] = mark;
      const decision = decisionOf(on, by, reason);
      if (decision === undefined || Object.hasOwn(data, "reviewed")) return undefined;
      data["reviewed"] = decision;
      count += 1 + Object.keys(decision).length;
      end = at + markText.indexOf(written) + written.length;
      at += markText.length;
      nextLine += 1;
      until = at;
      continue;
    }
    const pair = key === undefined ? null : matchAt(PAIR, text, at);
    if (pair === null || pair[1]?.length !== inner) {
      // Deeper indentation continues the element, or is a mistake.
      const [, next = "", sign = ""] = matchAt(ANY, text, at) ?? [];
      if (sign !== "" && next.length > column) return undefined;
      break;
    }
    const [pairText, , name = "", pairWritten = ""] = pair;
    const value = saidBy(pairWritten);
    if (value === undefined || Object.hasOwn(data, name)) return undefined;
    data[name] = value;
    count += 1;
    const place = pairText.indexOf(pairWritten, inner + name.length + 1);
    if (name === subjectKey) subject = { line: nextLine, column: place, written: pairWritten };
    end = at + place + pairWritten.length;
    at += pairText.length;
    nextLine += 1;
    until = at;
  }
  if (subject === undefined) return undefined;
  const element: PlainElement = {
    from,
    until,
    line,
    start,
    end,
    subjectLine: subject.line,
    subjectColumn: subject.column + 1,
    subjectEndColumn: subject.column + subject.written.length + 1,
    data: key === undefined ? said : data,
  };
  return {
    column,
    element,
    nextLine: line + linesIn(text, from, until),
    values: key === undefined ? 2 : 1 + 2 * count,
  };
}

/** Returns the value of a plain scalar; undefined if a parser might read another value. */
function saidBy(written: string): string | undefined {
  const first = written[0];
  if (first === '"' || first === "'") return written.slice(1, -1);
  const isNumber = first !== undefined && first >= "0" && first <= "9";
  return (isNumber ? NO_NUMBER : NO_WORD).test(written) ? written : undefined;
}

function decisionOf(
  on: string,
  writtenBy: string,
  writtenReason: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const by = saidBy(writtenBy);
  if (by === undefined) return undefined;
  if (writtenReason === undefined) return { on, by };
  const reason = saidBy(writtenReason);
  return reason === undefined ? undefined : { on, by, reason };
}

/** A day, an IPv4 address, or text with a letter that occurs in no number format. */
const NO_NUMBER = /^(?:\d{4}-\d\d-\d\d|\d+(?:\.\d+){3,})$|[g-np-wyzG-NP-WYZ]/;

/** Text that no parser reads as a boolean or null. */
const NO_WORD = /^(?!(?:null|true|false|y|yes|n|no|on|off)$)/i;

// The characters of plain texts: no tabs, invisible characters or combining characters.
const LETTERS = "\\u00a1-\\u1fff\\u3040-\\ud7ff";
const PLAIN = `[A-Za-z0-9](?:[!"$-9;-~${LETTERS}]|:(?=[!-~${LETTERS}])|(?<! )#| +(?=[!"$-~${LETTERS}]))*`;
const TEXT = `"[ !#-\\[\\]-~${LETTERS}]*"|'[ -&(-~${LETTERS}]*'|${PLAIN}`;
const BEHIND = `(?: +#[ -~${LETTERS}]*| *)(?:\\r?\\n|$)`;
const KEY = ["value", "email", ...ELEMENT_FIELD_NAMES].join("|");

const HEAD = new RegExp(`^(vips|allow|deny):${BEHIND.replace("|$", "")}`, "gm");
const DASH = new RegExp(`( *)-( +)(?:(${KEY}): +)?(${TEXT})${BEHIND}`, "y");
const PAIR = new RegExp(`( *)(${KEY}): +(${TEXT})${BEHIND}`, "y");
// In braces, only words separated by single spaces.
const WORD = `[\\w.@+/()'${LETTERS}-]+`;
const FLOW_TEXT = `"[ !#-\\[\\]-~${LETTERS}]*"|[A-Za-z0-9](?:${WORD})?(?: ${WORD})*`;
const DECISION = `\\{ on: (\\d{4}-\\d\\d-\\d\\d), by: (${FLOW_TEXT})(?:, reason: (${FLOW_TEXT}))? \\}`;
const MARK = new RegExp(`( *)reviewed: +(${DECISION})${BEHIND}`, "y");
const EMPTY = new RegExp(` *(?:#[ -~${LETTERS}]*)?\\r?\\n`, "y");
/** A dash that starts an element and not a text. */
const DASH_ALONE = /-(?=[ \r\n]|$)/y;
const ANY = /([ \t]*)([^\r\n]?)/y;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Returns whether a line starts an element or ends the section. */
function isDashOrKey(text: string, at: number, column: number | undefined): boolean {
  const [, indent = "", sign = ""] = matchAt(ANY, text, at) ?? [];
  if (sign === "") return false;
  return indent.length === 0 ? sign !== "#" : sign === "-" && indent.length === column;
}
