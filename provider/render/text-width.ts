import { sanitizeLine } from "../model/text";

/** Returns the width of sanitized text in terminal columns. Emoji and East Asian wide characters count as two. */
export function getTextWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let columns = 0;
  for (const character of text) {
    if (WIDE_CHARACTER.test(character)) columns += 2;
    else if (!/[\p{Mn}\p{Me}]/u.test(character) || character === EMOJI_VARIATION_SELECTOR) columns += 1;
  }
  return columns;
}

export function truncateToWidth(text: string, columns: number): string {
  if (getTextWidth(text) <= columns) return text;
  if (columns < 1) return "";
  let truncated = "";
  let usedColumns = 0;
  for (const character of text) {
    usedColumns += getTextWidth(character);
    if (usedColumns > columns - 1) break;
    truncated += character;
  }
  return `${truncated.trimEnd()}…`;
}

export function fitToWidth(text: string, columns: number): string {
  const truncated = truncateToWidth(text, columns);
  return truncated + " ".repeat(columns - getTextWidth(truncated));
}

/**
 * Wraps a text. Breaks only at spaces outside of backticks and of quoted paths, so that values, commands and paths can be
 * searched and copied.
 *
 * @param measureWord returns the width of a word.
 */
export function wrapText(text: string, width: number, measureWord = getTextWidth): string[] {
  const lines: string[] = [];
  let line = "";
  let usedColumns = 0;
  for (const word of splitUnbreakable(text)) {
    const columns = measureWord(word);
    if (usedColumns > 0 && usedColumns + 1 + columns > width) {
      lines.push(line);
      line = word;
      usedColumns = columns;
    } else {
      line = usedColumns > 0 ? `${line} ${word}` : word;
      usedColumns += (usedColumns > 0 ? 1 : 0) + columns;
    }
  }
  return [...lines, line];
}

/** Splits a text at spaces; a command in backticks and a quoted path, whose first part has no space, are one word. */
function splitUnbreakable(text: string): string[] {
  const protectedText = text.replace(/`\S(?:[^`]*[^\s`])?`|"[^"\s\\:/]*\/[^"\\]{0,200}"/g, (command) =>
    command.replaceAll(" ", SPACE_PLACEHOLDER),
  );
  return protectedText.split(" ").map((word) => word.replaceAll(SPACE_PLACEHOLDER, " "));
}

/** A placeholder for a space. Printable text contains no control characters. */
const SPACE_PLACEHOLDER = "\0";

const MIN_WIDTH = 40;
const MAX_WIDTH = 100;

/**
 * Sanitizes a text and wraps it with a hanging indent of two columns.
 *
 * @param columns the width of the terminal; capped at a readable line length.
 */
export function wrapHangingIndent(indent: number, text: string, columns: number): string[] {
  return wrapStyledText(getTextWidth, indent, sanitizeLine(text), columns);
}

/** Wraps sanitized text like {@link wrapHangingIndent}. `measureWord` can ignore characters without width, such as colour codes. */
export function wrapStyledText(
  measureWord: (word: string) => number,
  indent: number,
  text: string,
  columns: number,
): string[] {
  const width = Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, columns));
  const [first = "", ...otherLines] = wrapText(text, width - indent - 2, measureWord);
  return [" ".repeat(indent) + first, ...otherLines.map((line) => " ".repeat(indent + 2) + line)];
}

/** The variation selector that turns the preceding character into a wide emoji. */
const EMOJI_VARIATION_SELECTOR = "\ufe0f";

/** Characters that take two columns: emoji, and approximately those with the East Asian Width W or F. */
const WIDE_CHARACTER =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Yi}\p{Emoji_Presentation}\u{2329}\u{232a}\u{2630}-\u{2637}\u{268a}-\u{268f}\u{2e80}-\u{33ff}\u{4dc0}-\u{4dff}\u{a960}-\u{a97f}\u{fe10}-\u{fe19}\u{fe30}-\u{fe6f}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d37f}\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u;
