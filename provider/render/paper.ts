import { styleText } from "node:util";
import { excerpt, harmless, printable } from "../settings/text";
import { columnsOf, wrapTo } from "./columns";
import { onOneLine, type Words } from "./words";

export type Style = Parameters<typeof styleText>[0];

/** Lines for a terminal, which are escaped before they are coloured. */
export class Paper {
  readonly #lines: string[] = [];
  readonly #color: boolean;
  readonly #width: number;

  /**
   * @param color whether to use colours.
   * @param width the terminal width in columns; at least 40.
   */
  constructor(color: boolean, width: number) {
    this.#color = color;
    this.#width = Math.max(width, MIN_WIDTH);
  }

  gap(): void {
    this.#lines.push("");
  }

  /** Adds wrapped words. */
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

  /** Adds words after a label, which has its own column. */
  labelled(
    label: string,
    words: Words,
    { indent = 0, labelWidth = label.length, style = [] }: Labelling = {},
  ): void {
    const column = indent + labelWidth + 2;
    const [first = "", ...rest] = wrapped(words, this.#width - column);
    const before = " ".repeat(indent);
    if (label !== "" && column + columnsOf(first) > this.#width) {
      // The first word is too long for the label's line.
      this.#lines.push(`${before}${this.#styled(style, label)}`, `${" ".repeat(column)}${first}`);
    } else this.#lines.push(`${before}${this.#styled(style, label.padEnd(labelWidth))}  ${first}`);
    for (const line of rest) this.#lines.push(`${" ".repeat(column)}${line}`);
  }

  /** Adds words after a marker, with a hanging indent of two columns. */
  marked(mark: string, words: Words, { indent = 0, style = [] }: Omit<Labelling, "labelWidth"> = {}): void {
    const [first = "", ...rest] = wrapped([`${mark} `, ...words], this.#width - indent - 2);
    const before = " ".repeat(indent);
    this.#lines.push(`${before}${this.#styled(styles("bold", style), mark)}${first.slice(mark.length)}`);
    for (const line of rest) this.#lines.push(`${before}  ${line}`);
  }

  /** Adds a message of several lines without wrapping. */
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
/** External text may have any length; other formats show more of it. */
const MAX_GIVEN = 1_000;

function styles(...all: readonly Style[]): Style {
  return all.flat() as Style;
}

function wrapped(words: Words, width: number): string[] {
  const text = printable(plain(words));
  const lines = wrapTo(text, width).map(printable);
  // Text can become a pipeline command at the start of a line; escaping it makes the line longer.
  return lines.every((line) => line.length <= width) ? lines : wrapTo(text, width - ESCAPE).map(printable);
}

/** The additional columns of an escaped command. */
const ESCAPE = 5;

function plain(words: Words): string {
  return words
    .map((word) => (typeof word === "string" ? word : excerpt(onOneLine(word.given), MAX_GIVEN)))
    .join("");
}
