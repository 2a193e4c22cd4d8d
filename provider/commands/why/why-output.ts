import type { WhyReport } from "../../gitops/why-schema";
import { formatJson } from "../../model/text";
import { renderMarkdownText } from "../../render/markdown-text";
import { TextPage } from "../../render/text-page";
import { buildWhyView } from "./why-view";

/** Renders the history of a value for a terminal. Escapes control characters in external text. */
export function renderWhyText(
  report: WhyReport,
  { color = false, width = 80 }: { readonly color?: boolean; readonly width?: number } = {},
): string {
  const { title, subtitle, sections } = buildWhyView(report);
  const page = new TextPage(color, width);
  page.addText(title, { style: "bold" });
  page.addText(subtitle, { style: "dim" });
  for (const { title: heading, lines } of sections) {
    page.addHeading(heading);
    for (const { source, text, details } of lines) {
      if (source === "") page.addLabeledText("-", text, { indent: 2 });
      else page.addLabeledText(source, text, { indent: 2, labelWidth: LABEL_WIDTH, style: "dim" });
      for (const detail of details) page.addText(detail, { indent: LABEL_WIDTH + 6, style: "dim" });
    }
  }
  return page.toString();
}

const LABEL_WIDTH = "journal".length;

/** Renders the history of a value as Markdown, with external text in code spans. */
export function renderWhyMarkdown(report: WhyReport): string {
  const { title, subtitle, sections } = buildWhyView(report);
  const lines = [`## ${renderMarkdownText(title)}`, "", renderMarkdownText(subtitle)];
  for (const { title: heading, lines: sectionLines } of sections) {
    lines.push("", `### ${renderMarkdownText(heading)}`, "");
    for (const { source, text, details } of sectionLines) {
      lines.push(`- ${source === "" ? "" : `**${source}** `}${renderMarkdownText(text, { limit: 1_000 })}`);
      for (const detail of details) lines.push(`  - ${renderMarkdownText(detail, { limit: 1_000 })}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

export const formatWhyJson = formatJson<WhyReport>;
