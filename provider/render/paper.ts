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
  text(content: Words, { indent = 0, style }: { readonly indent?: number; readonly style?: Style } = {}): void {
    for (const line of wrapContent(content, this.#width - indent)) {
      this.#lines.push(`${" ".repeat(indent)}${style === undefined ? line : this.#applyStyle(style, line)}`);
    }
  }

  heading(content: Words, style: Style = []): void {
    this.gap();
    this.text(content, { style: combineStyles("bold", style) });
    this.gap();
  }

  /** Adds words after a label, which has its own column. */
  labelled(
    label: string,
    content: Words,
    { indent = 0, labelWidth = label.length, style = [] }: LabelOptions = {},
  ): void {
    const column = indent + labelWidth + 2;
    const [first = "", ...otherLines] = wrapContent(content, this.#width - column);
    const indentation = " ".repeat(indent);
    if (label !== "" && column + columnsOf(first) > this.#width) {
      // The first word is too long for the label's line.
      this.#lines.push(`${indentation}${this.#applyStyle(style, label)}`, `${" ".repeat(column)}${first}`);
    } else this.#lines.push(`${indentation}${this.#applyStyle(style, label.padEnd(labelWidth))}  ${first}`);
    for (const line of otherLines) this.#lines.push(`${" ".repeat(column)}${line}`);
  }

  /** Adds words after a marker, with a hanging indent of two columns. */
  marked(marker: string, content: Words, { indent = 0, style = [] }: Omit<LabelOptions, "labelWidth"> = {}): void {
    const [first = "", ...otherLines] = wrapContent([`${marker} `, ...content], this.#width - indent - 2);
    const indentation = " ".repeat(indent);
    this.#lines.push(
      `${indentation}${this.#applyStyle(combineStyles("bold", style), marker)}${first.slice(marker.length)}`,
    );
    for (const line of otherLines) this.#lines.push(`${indentation}  ${line}`);
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

  #applyStyle(style: Style, text: string): string {
    return this.#color ? styleText(style, text, { validateStream: false }) : text;
  }
}

interface LabelOptions {
  readonly indent?: number;
  readonly labelWidth?: number;
  readonly style?: Style;
}

const MIN_WIDTH = 40;
/** External text may have any length; other formats show more of it. */
const MAX_TEXT_LENGTH = 1_000;

function combineStyles(...all: readonly Style[]): Style {
  return all.flat() as Style;
}

function wrapContent(content: Words, width: number): string[] {
  const text = printable(toPlainText(content));
  const lines = wrapTo(text, width).map(printable);
  // Text can become a pipeline command at the start of a line; escaping it makes the line longer.
  return lines.every((line) => line.length <= width) ? lines : wrapTo(text, width - ESCAPE_COLUMNS).map(printable);
}

/** The additional columns of an escaped command. */
const ESCAPE_COLUMNS = 5;

function toPlainText(content: Words): string {
  return content
    .map((word) => (typeof word === "string" ? word : excerpt(onOneLine(word.given), MAX_TEXT_LENGTH)))
    .join("");
}
