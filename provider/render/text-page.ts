import { styleText } from "node:util";
import { excerpt, sanitizeLine, sanitizeMultiline } from "../model/text";
import { type SafeText, toSingleLine } from "./safe-text";
import { getTextWidth, wrapText } from "./text-width";

export type Style = Parameters<typeof styleText>[0];

export class TextPage {
  readonly #lines: string[] = [];
  readonly #color: boolean;
  readonly #width: number;

  /** @param width the terminal width in columns; at least 40. */
  constructor(color: boolean, width: number) {
    this.#color = color;
    this.#width = Math.max(width, MIN_WIDTH);
  }

  addBlankLine(): void {
    this.#lines.push("");
  }

  addText(content: SafeText, { indent = 0, style }: { readonly indent?: number; readonly style?: Style } = {}): void {
    for (const line of wrapContent(content, this.#width - indent)) {
      this.#lines.push(`${" ".repeat(indent)}${style === undefined ? line : this.#applyStyle(style, line)}`);
    }
  }

  addHeading(content: SafeText, style: Style = []): void {
    this.addBlankLine();
    this.addText(content, { style: combineStyles("bold", style) });
    this.addBlankLine();
  }

  addLabeledText(
    label: string,
    content: SafeText,
    { indent = 0, labelWidth = label.length, style = [] }: LabelOptions = {},
  ): void {
    const column = indent + labelWidth + 2;
    const [first = "", ...otherLines] = wrapContent(content, this.#width - column);
    const indentation = " ".repeat(indent);
    if (label !== "" && column + getTextWidth(first) > this.#width) {
      // The first word is too long for the label's line.
      this.#lines.push(`${indentation}${this.#applyStyle(style, label)}`, `${" ".repeat(column)}${first}`);
    } else this.#lines.push(`${indentation}${this.#applyStyle(style, label.padEnd(labelWidth))}  ${first}`);
    for (const line of otherLines) this.#lines.push(`${" ".repeat(column)}${line}`);
  }

  /** Adds words after a marker, with a hanging indent of two columns. */
  addMarkedText(
    marker: string,
    content: SafeText,
    { indent = 0, style = [] }: Omit<LabelOptions, "labelWidth"> = {},
  ): void {
    const [first = "", ...otherLines] = wrapContent([`${marker} `, ...content], this.#width - indent - 2);
    const indentation = " ".repeat(indent);
    this.#lines.push(
      `${indentation}${this.#applyStyle(combineStyles("bold", style), marker)}${first.slice(marker.length)}`,
    );
    for (const line of otherLines) this.#lines.push(`${indentation}  ${line}`);
  }

  /** Adds a message of several lines without wrapping. */
  addVerbatim(message: string, indent: number): void {
    for (const line of sanitizeMultiline(message).trimEnd().split("\n")) {
      this.#lines.push(`${" ".repeat(indent)}${sanitizeLine(line.trimEnd())}`);
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

function wrapContent(content: SafeText, width: number): string[] {
  const text = sanitizeLine(toPlainText(content));
  const lines = wrapText(text, width).map(sanitizeLine);
  // Text can become a pipeline command at the start of a line; escaping it makes the line longer.
  return lines.every((line) => line.length <= width) ? lines : wrapText(text, width - ESCAPE_COLUMNS).map(sanitizeLine);
}

const ESCAPE_COLUMNS = 5;

function toPlainText(content: SafeText): string {
  return content
    .map((word) => (typeof word === "string" ? word : excerpt(toSingleLine(word.untrusted), MAX_TEXT_LENGTH)))
    .join("");
}
