import { renderMarkdownText } from "../../render/markdown-text";
import { renderWithinLimit } from "../../render/render-within-limit";
import { formatNumber, type SafeText } from "../../render/safe-text";
import { TextPage } from "../../render/text-page";

export interface PageView {
  readonly title: SafeText;
  /** One line each. */
  readonly introduction: readonly SafeText[];
  readonly sections: readonly PageSection[];
}

export interface PageSection {
  readonly heading: SafeText;
  readonly lines: readonly PageLine[];
}

export interface PageLine {
  /** `+`, `-`, or a time; may be empty. */
  readonly label: string;
  readonly text: SafeText;
  /** Details of the line, one line each. */
  readonly details?: readonly SafeText[];
}

export interface PageTextOptions {
  readonly color?: boolean;
  readonly width?: number;
  /** The maximum number of lines to show of each part. The others are only counted. */
  readonly limit?: number;
}

/** Renders a page for a terminal, with a trailing newline. Values from outside are sanitized. */
export function renderPageText(
  { title, introduction, sections }: PageView,
  { color = false, width = 80, limit = Number.POSITIVE_INFINITY }: PageTextOptions = {},
): string {
  const page = new TextPage(color, width);
  if (title.length > 0) page.addText(title, { style: "bold" });
  for (const text of introduction) page.addText(text, { style: "dim" });
  for (const { heading, lines } of sections) {
    page.addHeading(heading);
    for (const { label, text, details = [] } of lines.slice(0, limit)) {
      if (label === "") page.addText(text, { indent: INDENT });
      else page.addLabeledText(label, text, { indent: INDENT });
      for (const detail of details) page.addText(detail, { indent: INDENT * 3, style: "dim" });
    }
    const hiddenCount = lines.length - limit;
    if (hiddenCount > 0)
      page.addText([`… and ${formatNumber(hiddenCount)} more; --all shows them`], { indent: INDENT });
  }
  return page.toString();
}

const INDENT = 2;

/**
 * Renders a page as Markdown. Values from outside appear in code spans.
 *
 * @param maxBytes the maximum size in bytes of UTF-8.
 */
export function renderPageMarkdown({ title, introduction, sections }: PageView, maxBytes = MAX_MARKDOWN_BYTES): string {
  const head = title.length > 0 ? `## ${renderMarkdownText(title)}\n\n` : "";
  const introductionText = introduction.map((line) => `${renderMarkdownText(line)}\n`).join("\n");
  let text = `${head}${introductionText}`;
  for (const [index, { heading, lines }] of sections.entries()) {
    // Each part gets a share of the remaining room, so that the last one appears too.
    const sectionBytes = (maxBytes - Buffer.byteLength(text)) / (sections.length - index);
    const items = lines.map((line) => () => renderPageLineMarkdown(line));
    text += renderWithinLimit(
      `\n### ${renderMarkdownText(heading)}\n\n`,
      [items],
      sectionBytes,
      (hiddenCount) => `… and ${formatNumber(hiddenCount)} more.\n`,
    );
  }
  return text;
}

const MAX_MARKDOWN_BYTES = 65_536;

function renderPageLineMarkdown({ label, text, details = [] }: PageLine): string {
  const lineText = `- ${label === "" ? "" : `\`${label}\` `}${renderMarkdownText(text, { limit: 500 })}\n`;
  return `${lineText}${details.map((detail) => `  - ${renderMarkdownText(detail, { limit: 500 })}\n`).join("")}`;
}
