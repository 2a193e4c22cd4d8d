import { excerpt, harmless, printable } from "../settings/text";
import { onOneLine, type Words } from "./words";

/**
 * Text from outside as a code span, in which GitHub and GitLab make nothing of it: no markup, no HTML, no mention, no
 * reference and no link. It stays on its line.
 *
 * @param limit how many characters of it are shown, 200 when left out.
 */
export function markdownCode(text: string, limit = 200): string {
  const shown = excerpt(onOneLine(text), limit);
  if (shown.trim() === "") return shown === "" ? "(empty)" : "(blank)";
  const fence = "`".repeat(longestRun(shown) + 1);
  // A space beside a backtick is taken off again; so is one at either end, where there is one at both.
  const needsSpace = /^[ `]|[ `]$/.test(shown);
  return needsSpace ? `${fence} ${shown} ${fence}` : `${fence}${shown}${fence}`;
}

/**
 * A sentence in which there may be something from outside, such as the message of a finding: plain words stay, and
 * everything else (values, addresses, what is in backticks) becomes code spans.
 */
export function escapeMarkdown(text: string, limit = 1_000): string {
  const pieces = excerpt(onOneLine(text), limit)
    .split(/`([^`]+)`/)
    .flatMap((piece, index) =>
      index % 2 === 1
        ? [markdownCode(piece, Number.POSITIVE_INFINITY)]
        : piece.split(/( +)/).map(escapedWord),
    );
  return joined(pieces.filter((piece) => piece !== ""));
}

/** Several lines as they are, as a code block. */
export function markdownBlock(text: string, limit: number): string {
  const lines = harmless(excerptOf(text, limit)).trimEnd().replaceAll("\t", "    ").split("\n");
  const shown = lines.map(printable).join("\n");
  const fence = "`".repeat(Math.max(3, longestRun(shown) + 1));
  return `${fence}text\n${shown}\n${fence}\n`;
}

export interface MarkdownOptions {
  /** How many characters of each text from outside are shown. */
  readonly limit?: number;
  /** Whether it is for a cell of a table. */
  readonly isCell?: boolean;
}

/** Words as Markdown: what came from outside stands in code spans. */
export function markdownWords(words: Words, { limit = 200, isCell = false }: MarkdownOptions = {}): string {
  const pieces = words.map((word) => {
    if (typeof word === "string") return word;
    const text = isCell ? withoutPipes(word.given) : word.given;
    return word.isSentence === true ? escapeMarkdown(text, limit) : markdownCode(text, limit);
  });
  return joined(pieces);
}

/** A row of a table. */
export function markdownRow(cells: readonly Words[]): string {
  return `| ${cells.map((words) => markdownWords(words, { limit: 200, isCell: true })).join(" | ")} |`;
}

/** A long part behind a line that one opens. The summary is our own text. */
export function wrap(summary: string, content: string, isOpen = false): string {
  return `<details${isOpen ? " open" : ""}><summary>${summary}</summary>\n\n${content}\n</details>\n`;
}

/** Two code spans side by side would be another one. */
function joined(pieces: readonly string[]): string {
  let line = "";
  for (const piece of pieces) line += line.endsWith("`") && piece.startsWith("`") ? ` ${piece}` : piece;
  return line;
}

function escapedWord(word: string): string {
  const [, before = "", core = "", after = ""] = /^([("']*)(.*?)([)"',.;:?!…]*)$/su.exec(word) ?? [];
  if (core.trim() === "") return word;
  return PLAIN.test(core) && !COMMIT.test(core) && !BEGINS_LINK.test(core)
    ? word
    : `${before}${markdownCode(core, Number.POSITIVE_INFINITY)}${after}`;
}

/** A word with or without hyphens and apostrophes, or a number; nothing that anybody makes a link of. */
const PLAIN = /^(?:\p{L}+(?:['’-]\p{L}+)*|[\d.,-]{1,12}%?)$/u;

/** What would be taken for a commit. */
const COMMIT = /^[\da-f]{7,}$/i;

/** What a link begins with, together with the full stop or the colon that is cut off as punctuation. */
const BEGINS_LINK = /(?:www|mailto|xmpp)$/i;

/** A `|` would end the cell of a table even in a code span. */
function withoutPipes(text: string): string {
  return text.replaceAll("|", "\\u{7c}");
}

function excerptOf(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}
