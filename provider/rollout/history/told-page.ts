import { markdownWords } from "../../render/markdown-text";
import { Paper } from "../../render/paper";
import { filled } from "../../render/room";
import { number, type Words } from "../../render/words";

/** A page for people, independent of the format that shows it. */
export interface ToldPage {
  readonly title: Words;
  /** One line each. */
  readonly about: readonly Words[];
  readonly parts: readonly ToldPart[];
}

export interface ToldPart {
  readonly heading: Words;
  readonly lines: readonly ToldLine[];
}

export interface ToldLine {
  /** `+`, `-`, or a time; may be empty. */
  readonly mark: string;
  readonly words: Words;
  /** Details of the line, one line each. */
  readonly more?: readonly Words[];
}

export interface ToldTextOptions {
  readonly color?: boolean;
  readonly width?: number;
  /** The maximum number of lines to show of each part. The others are only counted. */
  readonly limit?: number;
}

/** Renders a page for a terminal, with a trailing newline. Values from outside are sanitized. */
export function toldText(
  { title, about, parts }: ToldPage,
  { color = false, width = 80, limit = Number.POSITIVE_INFINITY }: ToldTextOptions = {},
): string {
  const page = new Paper(color, width);
  if (title.length > 0) page.text(title, { style: "bold" });
  for (const text of about) page.text(text, { style: "dim" });
  for (const { heading, lines } of parts) {
    page.heading(heading);
    for (const { mark, words, more = [] } of lines.slice(0, limit)) {
      if (mark === "") page.text(words, { indent: INDENT });
      else page.labelled(mark, words, { indent: INDENT });
      for (const detail of more) page.text(detail, { indent: INDENT * 3, style: "dim" });
    }
    const hiddenCount = lines.length - limit;
    if (hiddenCount > 0) page.text([`… and ${number(hiddenCount)} more; --all tells them`], { indent: INDENT });
  }
  return page.toString();
}

const INDENT = 2;

/**
 * Renders a page as Markdown. Values from outside appear in code spans.
 *
 * @param maxBytes the maximum size in bytes of UTF-8.
 */
export function toldMarkdown({ title, about, parts }: ToldPage, maxBytes = MAX_MARKDOWN_BYTES): string {
  const head = title.length > 0 ? `## ${markdownWords(title)}\n\n` : "";
  const introductionText = about.map((line) => `${markdownWords(line)}\n`).join("\n");
  let text = `${head}${introductionText}`;
  for (const [index, { heading, lines }] of parts.entries()) {
    // Each part gets a share of the remaining room, so that the last one appears too.
    const sectionBytes = (maxBytes - Buffer.byteLength(text)) / (parts.length - index);
    const items = lines.map((line) => () => renderPageLineMarkdown(line));
    text += filled(
      `\n### ${markdownWords(heading)}\n\n`,
      [items],
      sectionBytes,
      (hiddenCount) => `… and ${number(hiddenCount)} more.\n`,
    );
  }
  return text;
}

/** The maximum size of a comment on GitHub. */
const MAX_MARKDOWN_BYTES = 65_536;

function renderPageLineMarkdown({ mark, words, more = [] }: ToldLine): string {
  const lineText = `- ${mark === "" ? "" : `\`${mark}\` `}${markdownWords(words, { limit: 500 })}\n`;
  return `${lineText}${more.map((detail) => `  - ${markdownWords(detail, { limit: 500 })}\n`).join("")}`;
}
