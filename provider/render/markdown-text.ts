import { excerpt, harmless, printable } from "../settings/text";
import { onOneLine, type Words } from "./words";

/**
 * Renders external text as an inline code span, so that GitHub and GitLab create no markup, HTML, mentions, references or links.
 *
 * @param limit the maximum number of characters. Default: 200.
 */
export function markdownCode(text: string, limit = 200): string {
  const shown = excerpt(onOneLine(text), limit);
  if (shown.trim() === "") return shown === "" ? "(empty)" : "(blank)";
  const fence = "`".repeat(longestRun(shown) + 1);
  // Markdown strips a space next to a backtick, and one at each end if both ends have one.
  const needsSpace = /^[ `]|[ `]$/.test(shown);
  return needsSpace ? `${fence} ${shown} ${fence}` : `${fence}${shown}${fence}`;
}

/**
 * Escapes a sentence that may contain external text, such as the message of a finding. Plain words stay; everything else (values,
 * addresses, backticks) becomes code spans.
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

/** Renders several lines as a code block. */
export function markdownBlock(text: string, limit: number): string {
  const lines = harmless(excerptOf(text, limit)).trimEnd().replaceAll("\t", "    ").split("\n");
  const shown = lines.map(printable).join("\n");
  const fence = "`".repeat(Math.max(3, longestRun(shown) + 1));
  return `${fence}text\n${shown}\n${fence}\n`;
}

export interface MarkdownOptions {
  /** The maximum number of characters of each external text. */
  readonly limit?: number;
  /** Whether the text is for a table cell. */
  readonly isCell?: boolean;
}

/** Renders words as Markdown, with external text in code spans. */
export function markdownWords(words: Words, { limit = 200, isCell = false }: MarkdownOptions = {}): string {
  const pieces = words.map((word) => {
    if (typeof word === "string") return word;
    const text = isCell ? withoutPipes(word.given) : word.given;
    return word.isSentence === true ? escapeMarkdown(text, limit) : markdownCode(text, limit);
  });
  return joined(pieces);
}

export function markdownRow(cells: readonly Words[]): string {
  return `| ${cells.map((words) => markdownWords(words, { limit: 200, isCell: true })).join(" | ")} |`;
}

/** Renders a collapsible section. The summary must be trusted text. */
export function wrap(summary: string, content: string, isOpen = false): string {
  return `<details${isOpen ? " open" : ""}><summary>${summary}</summary>\n\n${content}\n</details>\n`;
}

/** Separates adjacent code spans, which would otherwise merge. */
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

/** A word, with or without hyphens and apostrophes, or a number; nothing that becomes a link. */
const PLAIN = /^(?:\p{L}+(?:['’-]\p{L}+)*|[\d.,-]{1,12}%?)$/u;

/** Text that looks like a commit hash. */
const COMMIT = /^[\da-f]{7,}$/i;

/** Text that starts a link together with the punctuation that was split off. */
const BEGINS_LINK = /(?:www|mailto|xmpp)$/i;

/** A `|` ends a table cell even in a code span. */
function withoutPipes(text: string): string {
  return text.replaceAll("|", "\\u{7c}");
}

function excerptOf(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}
