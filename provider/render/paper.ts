import { styleText } from "node:util";
import { excerpt, harmless, printable } from "../settings/text";
import { columnsOf, wrapTo } from "./columns";
import { onOneLine, type Words } from "./words";

export type Style = Parameters<typeof styleText>[0];

/** Lines for a terminal: each is made nothing but text, and coloured after that. */
export class Paper {
  readonly #lines: string[] = [];
  readonly #color: boolean;
  readonly #width: number;

  /**
   * @param color whether to use colours.
   * @param width columns of the terminal; less than 40 are taken as 40.
   */
  constructor(color: boolean, width: number) {
    this.#color = color;
    this.#width = Math.max(width, MIN_WIDTH);
  }

  gap(): void {
    this.#lines.push("");
  }

  /** Words over as many lines as they need. */
  text(words: Words, { indent = 0, style }: { readonly indent?: number; readonly style?: Style } = {}): void {
    for (const shown of wrapped(words, this.#width - indent)) {
      this.#lines.push(`${" ".repeat(indent)}${style === undefined ? shown : this.#styled(style, shown)}`);
    }
  }

  heading(words: Words, style: Style = []): void {
    this.gap();
    this.text(words, { style: styles("bold", style) });
    this.gap();
  }

  /** Words behind a label, which keeps its column for itself. */
  labelled(
    label: string,
    words: Words,
    { indent = 0, labelWidth = label.length, style = [] }: Labelling = {},
  ): void {
    const column = indent + labelWidth + 2;
    const [first = "", ...rest] = wrapped(words, this.#width - column);
    const before = " ".repeat(indent);
    if (label !== "" && column + columnsOf(first) > this.#width) {
      // The first word has a line of its own.
      this.#lines.push(`${before}${this.#styled(style, label)}`, `${" ".repeat(column)}${first}`);
    } else this.#lines.push(`${before}${this.#styled(style, label.padEnd(labelWidth))}  ${first}`);
    for (const line of rest) this.#lines.push(`${" ".repeat(column)}${line}`);
  }

  /** Words behind a mark; what does not fit on its line follows two columns deeper. */
  marked(mark: string, words: Words, { indent = 0, style = [] }: Omit<Labelling, "labelWidth"> = {}): void {
    const [first = "", ...rest] = wrapped([`${mark} `, ...words], this.#width - indent - 2);
    const before = " ".repeat(indent);
    this.#lines.push(`${before}${this.#styled(styles("bold", style), mark)}${first.slice(mark.length)}`);
    for (const line of rest) this.#lines.push(`${before}  ${line}`);
  }

  /** A message of several lines, each as it is. */
  verbatim(message: string, indent: number): void {
    for (const line of harmless(message).trimEnd().split("\n")) {
      this.#lines.push(`${" ".repeat(indent)}${printable(line.trimEnd())}`);
    }
  }

  toString(): string {
    return `${this.#lines.join("\n")}\n`;
  }

  #styled(style: Style, text: string): string {
    return this.#color ? styleText(style, text, { validateStream: false }) : text;
  }
}

interface Labelling {
  readonly indent?: number;
  readonly labelWidth?: number;
  readonly style?: Style;
}

const MIN_WIDTH = 40;
/** Text from outside may be of any length; other formats hold more of it. */
const MAX_GIVEN = 1_000;

function styles(...all: readonly Style[]): Style {
  return all.flat() as Style;
}

function wrapped(words: Words, width: number): string[] {
  const text = printable(plain(words));
  const lines = wrapTo(text, width).map(printable);
  // What is harmless within a line can be a command where one begins, and is longer once it is none.
  return lines.every((line) => line.length <= width) ? lines : wrapTo(text, width - ESCAPE).map(printable);
}

/** So many columns more. */
const ESCAPE = 5;

function plain(words: Words): string {
  return words
    .map((word) => (typeof word === "string" ? word : excerpt(onOneLine(word.given), MAX_GIVEN)))
    .join("");
}
