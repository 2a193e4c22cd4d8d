import { excerpt, sanitizeLine, sanitizeMultiline } from "../model/text";
import { type SafeText, toSingleLine } from "./safe-text";

/**
 * Renders external text as an inline code span, so that GitHub and GitLab create no markup, HTML, mentions, references or links.
 *
 * @param limit the maximum number of characters. Default: 200.
 */
export function formatMarkdownCode(text: string, limit = 200): string {
  const excerptText = excerpt(toSingleLine(text), limit);
  if (excerptText.trim() === "") return excerptText === "" ? "(empty)" : "(blank)";
  const fence = "`".repeat(getLongestBacktickRun(excerptText) + 1);
  // Markdown strips a space next to a backtick, and one at each end if both ends have one.
  const needsSpace = /^[ `]|[ `]$/.test(excerptText);
  return needsSpace ? `${fence} ${excerptText} ${fence}` : `${fence}${excerptText}${fence}`;
}

/**
 * Escapes a sentence that may contain external text, such as the message of a finding. Plain words stay; everything else (values,
 * addresses, backticks) becomes code spans.
 */
export function escapeMarkdown(text: string, limit = 1_000): string {
  const pieces = excerpt(toSingleLine(text), limit)
    .split(/`([^`]+)`/)
    .flatMap((piece, index) =>
      index % 2 === 1
        ? [formatMarkdownCode(piece, Number.POSITIVE_INFINITY)]
        : piece.split(/( +)/).map(escapeMarkdownWord),
    );
  return joinPieces(pieces.filter((piece) => piece !== ""));
}

export function formatMarkdownBlock(text: string, limit: number): string {
  const lines = sanitizeMultiline(truncateText(text, limit)).trimEnd().replaceAll("\t", "    ").split("\n");
  const blockText = lines.map(sanitizeLine).join("\n");
  const fence = "`".repeat(Math.max(3, getLongestBacktickRun(blockText) + 1));
  return `${fence}text\n${blockText}\n${fence}\n`;
}

export interface MarkdownOptions {
  readonly limit?: number;
  readonly isCell?: boolean;
}

export function renderMarkdownText(safeText: SafeText, { limit = 200, isCell = false }: MarkdownOptions = {}): string {
  const pieces = safeText.map((word) => {
    if (typeof word === "string") return word;
    const text = isCell ? escapePipes(word.untrusted) : word.untrusted;
    return word.isSentence === true ? escapeMarkdown(text, limit) : formatMarkdownCode(text, limit);
  });
  return joinPieces(pieces);
}

export function renderMarkdownRow(cells: readonly SafeText[]): string {
  return `| ${cells.map((safeText) => renderMarkdownText(safeText, { limit: 200, isCell: true })).join(" | ")} |`;
}

/** Renders a collapsible section. The summary must be trusted text. */
export function renderMarkdownDetails(summary: string, content: string, isOpen = false): string {
  return `<details${isOpen ? " open" : ""}><summary>${summary}</summary>\n\n${content}\n</details>\n`;
}

/** Separates adjacent code spans, which would otherwise merge. */
function joinPieces(pieces: readonly string[]): string {
  let line = "";
  for (const piece of pieces) line += line.endsWith("`") && piece.startsWith("`") ? ` ${piece}` : piece;
  return line;
}

function escapeMarkdownWord(word: string): string {
  const [, leading = "", core = "", trailing = ""] = /^([("']*)(.*?)([)"',.;:?!…]*)$/su.exec(word) ?? [];
  if (core.trim() === "") return word;
  return PLAIN_WORD.test(core) && !COMMIT_HASH.test(core) && !LINK_START.test(core)
    ? word
    : `${leading}${formatMarkdownCode(core, Number.POSITIVE_INFINITY)}${trailing}`;
}

/** A word, with or without hyphens and apostrophes, or a number; nothing that becomes a link. */
const PLAIN_WORD = /^(?:\p{L}+(?:['’-]\p{L}+)*|[\d.,-]{1,12}%?)$/u;

const COMMIT_HASH = /^[\da-f]{7,}$/i;

/** Text that starts a link together with the punctuation that was split off. */
const LINK_START = /(?:www|mailto|xmpp)$/i;

/** A `|` ends a table cell even in a code span. */
function escapePipes(text: string): string {
  return text.replaceAll("|", "\\u{7c}");
}

function truncateText(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function getLongestBacktickRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}
