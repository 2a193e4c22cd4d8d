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
  const paper = new Paper(color, width);
  if (title.length > 0) paper.text(title, { style: "bold" });
  for (const words of about) paper.text(words, { style: "dim" });
  for (const { heading, lines } of parts) {
    paper.heading(heading);
    for (const { mark, words, more = [] } of lines.slice(0, limit)) {
      if (mark === "") paper.text(words, { indent: INDENT });
      else paper.labelled(mark, words, { indent: INDENT });
      for (const one of more) paper.text(one, { indent: INDENT * 3, style: "dim" });
    }
    const rest = lines.length - limit;
    if (rest > 0) paper.text([`… and ${number(rest)} more; --all tells them`], { indent: INDENT });
  }
  return paper.toString();
}

const INDENT = 2;

/**
 * Renders a page as Markdown. Values from outside appear in code spans.
 *
 * @param room the maximum size in bytes of UTF-8.
 */
export function toldMarkdown({ title, about, parts }: ToldPage, room = MOST): string {
  const head = title.length > 0 ? `## ${markdownWords(title)}\n\n` : "";
  const facts = about.map((words) => `${markdownWords(words)}\n`).join("\n");
  let text = `${head}${facts}`;
  for (const [index, { heading, lines }] of parts.entries()) {
    // Each part gets a share of the remaining room, so that the last one appears too.
    const left = (room - Buffer.byteLength(text)) / (parts.length - index);
    const items = lines.map((line) => () => lineMarkdown(line));
    text += filled(
      `\n### ${markdownWords(heading)}\n\n`,
      [items],
      left,
      (rest) => `… and ${number(rest)} more.\n`,
    );
  }
  return text;
}

/** The maximum size of a comment on GitHub. */
const MOST = 65_536;

function lineMarkdown({ mark, words, more = [] }: ToldLine): string {
  const own = `- ${mark === "" ? "" : `\`${mark}\` `}${markdownWords(words, { limit: 500 })}\n`;
  return `${own}${more.map((one) => `  - ${markdownWords(one, { limit: 500 })}\n`).join("")}`;
}
