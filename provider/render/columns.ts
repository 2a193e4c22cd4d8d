import { printable } from "../settings/text";

/** How many columns of a terminal a printable text takes, at most: what terminals disagree about counts as the wider. */
export function columnsOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let columns = 0;
  for (const character of text) {
    if (WIDE.test(character)) columns += 2;
    else if (!/[\p{Mn}\p{Me}]/u.test(character) || character === EMOJI_SIGN) columns += 1;
  }
  return columns;
}

/** As much of a text as has room, with an ellipsis where something is left out. */
export function cutTo(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  if (columns < 1) return "";
  let cut = "";
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > columns - 1) break;
    cut += character;
  }
  return `${cut.trimEnd()}…`;
}

/** A text and spaces up to a column; what is too long is cut. */
export function fitTo(text: string, columns: number): string {
  const cut = cutTo(text, columns);
  return cut + " ".repeat(columns - columnsOf(cut));
}

/**
 * A text in lines of so many columns. Breaks only at spaces outside of backticks, so that every value and command can be found
 * and copied.
 *
 * @param columnsIn how many columns a word takes.
 */
export function wrapTo(text: string, width: number, columnsIn = columnsOf): string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const word of wordsIn(text)) {
    const columns = columnsIn(word);
    if (used > 0 && used + 1 + columns > width) {
      lines.push(line);
      line = word;
      used = columns;
    } else {
      line = used > 0 ? `${line} ${word}` : word;
      used += (used > 0 ? 1 : 0) + columns;
    }
  }
  return [...lines, line];
}

/** The words between spaces; a command in backticks is one word. */
function wordsIn(text: string): string[] {
  const held = text.replace(/`\S(?:[^`]*[^\s`])?`/g, (command) => command.replaceAll(" ", HELD));
  return held.split(" ").map((word) => word.replaceAll(HELD, " "));
}

/** Stands for a space. Printable text holds no control character. */
const HELD = "\0";

const NARROWEST = 40;
const WIDEST = 100;

/**
 * A text behind an indentation, made printable; the lines that follow hang two columns deeper.
 *
 * @param columns of the terminal; no line is made longer than a person can read.
 */
export function hanging(indent: number, text: string, columns: number): string[] {
  return hangingBy(columnsOf, indent, printable(text), columns);
}

/** The same of a text that is printable but for what `columnsIn` does not count, such as colours. */
export function hangingBy(
  columnsIn: (word: string) => number,
  indent: number,
  text: string,
  columns: number,
): string[] {
  const width = Math.min(WIDEST, Math.max(NARROWEST, columns));
  const [first = "", ...rest] = wrapTo(text, width - indent - 2, columnsIn);
  return [" ".repeat(indent) + first, ...rest.map((line) => " ".repeat(indent + 2) + line)];
}

/** It makes the sign before it an emoji, which is wide. */
const EMOJI_SIGN = "\ufe0f";

/** What Unicode's East Asian Width calls wide. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Yi}\p{Emoji_Presentation}\u{2329}\u{232a}\u{2630}-\u{2637}\u{268a}-\u{268f}\u{2e80}-\u{33ff}\u{4dc0}-\u{4dff}\u{a960}-\u{a97f}\u{fe10}-\u{fe19}\u{fe30}-\u{fe6f}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d37f}\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u;
