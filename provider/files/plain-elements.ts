import { lineEndAfter, linesIn } from "./edit-element";
import type { Section } from "./edit-section";
import { ELEMENT_FIELD_NAMES } from "./element-fields";

/** An element of a list that every reader of YAML reads alike: a dash and a text, or lines of a known key and a text each. */
export interface PlainElement {
  /** Where its dash's line begins, and where its last line ends, with the end of that. */
  readonly from: number;
  readonly until: number;
  /** Its first line, from 1. */
  readonly line: number;
  /** From what follows the dash to the last character that says something. */
  readonly start: number;
  readonly end: number;
  /** Where what it declares stands (the value or mailbox): its line, and its first column, and the one behind it, from 1. */
  readonly subjectLine: number;
  readonly subjectColumn: number;
  readonly subjectEndColumn: number;
  readonly data: string | Readonly<Record<string, PlainValue>>;
}

/** A text, or the decision that it stays, as it is written by this package. */
type PlainValue = string | Readonly<Record<string, string>>;

/** A section some of whose elements are plain. */
export interface PlainSection {
  readonly name: Section;
  /** Where its key stands in the text that is left. */
  readonly keyStart: number;
  /** The column of the dashes, from 0. */
  readonly column: number;
  /** Where its last plain lines were, in the text that is left. */
  readonly lastGap: number;
  readonly elements: readonly PlainElement[];
}

/** Lines that were taken out: where, in the text that is left, and how much up to there. */
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
  /** How many texts, mappings and dashes were taken out. */
  readonly values: number;
}

/**
 * Takes the plain elements out of a settings file: almost all lines of a long one are such, and a parser of all of YAML takes a
 * hundred times as long for them. What is left tells whether they stood where they seem to.
 *
 * @param most how many values it takes out at most; of a text with more, none.
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
  /** How far the text is among what is left, or was taken out; and how many lines that is. */
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

  /** Reads a section's lines; answers where they end. */
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
      // A blank line or a comment goes with the elements around it; behind any other, it may be a part of that.
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
      // To the next line with a dash of the section's: it may begin a plain one.
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

/** The plain element whose first line is at a place; undefined where there is none. */
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
      // What stands further in goes on with it, or is a mistake.
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

/** What a text says as it is written; undefined where it may be read as something else than that text. */
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

/** A day, an IPv4 address, or what holds a letter that no number of any kind has. */
const NO_NUMBER = /^(?:\d{4}-\d\d-\d\d|\d+(?:\.\d+){3,})$|[g-np-wyzG-NP-WYZ]/;

/** What no reader takes for true, false or nothing. */
const NO_WORD = /^(?!(?:null|true|false|y|yes|n|no|on|off)$)/i;

// Of these a text is made: no tab, nothing invisible, and nothing of which two characters make one.
const LETTERS = "\\u00a1-\\u1fff\\u3040-\\ud7ff";
const PLAIN = `[A-Za-z0-9](?:[!"$-9;-~${LETTERS}]|:(?=[!-~${LETTERS}])|(?<! )#| +(?=[!"$-~${LETTERS}]))*`;
const TEXT = `"[ !#-\\[\\]-~${LETTERS}]*"|'[ -&(-~${LETTERS}]*'|${PLAIN}`;
const BEHIND = `(?: +#[ -~${LETTERS}]*| *)(?:\\r?\\n|$)`;
const KEY = ["value", "email", ...ELEMENT_FIELD_NAMES].join("|");

const HEAD = new RegExp(`^(vips|allow|deny):${BEHIND.replace("|$", "")}`, "gm");
const DASH = new RegExp(`( *)-( +)(?:(${KEY}): +)?(${TEXT})${BEHIND}`, "y");
const PAIR = new RegExp(`( *)(${KEY}): +(${TEXT})${BEHIND}`, "y");
// Between braces, words alone, with a space between.
const WORD = `[\\w.@+/()'${LETTERS}-]+`;
const FLOW_TEXT = `"[ !#-\\[\\]-~${LETTERS}]*"|[A-Za-z0-9](?:${WORD})?(?: ${WORD})*`;
const DECISION = `\\{ on: (\\d{4}-\\d\\d-\\d\\d), by: (${FLOW_TEXT})(?:, reason: (${FLOW_TEXT}))? \\}`;
const MARK = new RegExp(`( *)reviewed: +(${DECISION})${BEHIND}`, "y");
const EMPTY = new RegExp(` *(?:#[ -~${LETTERS}]*)?\\r?\\n`, "y");
/** A dash that begins an element, and not a text. */
const DASH_ALONE = /-(?=[ \r\n]|$)/y;
const ANY = /([ \t]*)([^\r\n]?)/y;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Whether a line begins an element of a section, or ends the section. */
function isDashOrKey(text: string, at: number, column: number | undefined): boolean {
  const [, indent = "", sign = ""] = matchAt(ANY, text, at) ?? [];
  if (sign === "") return false;
  return indent.length === 0 ? sign !== "#" : sign === "-" && indent.length === column;
}
