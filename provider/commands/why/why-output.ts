import type { WhyStory } from "../../gitops/why-schema";
import { markdownWords } from "../../render/markdown-text";
import { Paper } from "../../render/paper";
import { formatJson } from "../../settings/text";
import { whyReport } from "./why-report";

/** Renders a value's story for a terminal. Escapes control characters from outside. */
export function whyText(
  story: WhyStory,
  { color = false, width = 80 }: { readonly color?: boolean; readonly width?: number } = {},
): string {
  const { title, about, parts } = whyReport(story);
  const page = new Paper(color, width);
  page.text(title, { style: "bold" });
  page.text(about, { style: "dim" });
  for (const { title: heading, lines } of parts) {
    page.heading(heading);
    for (const { from, words, more } of lines) {
      if (from === "") page.labelled("-", words, { indent: 2 });
      else page.labelled(from, words, { indent: 2, labelWidth: LABEL_WIDTH, style: "dim" });
      for (const detail of more) page.text(detail, { indent: LABEL_WIDTH + 6, style: "dim" });
    }
  }
  return page.toString();
}

const LABEL_WIDTH = "journal".length;

/** Renders a value's story as Markdown; text from outside is in code spans. */
export function whyMarkdown(story: WhyStory): string {
  const { title, about, parts } = whyReport(story);
  const lines = [`## ${markdownWords(title)}`, "", markdownWords(about)];
  for (const { title: heading, lines: partLines } of parts) {
    lines.push("", `### ${markdownWords(heading)}`, "");
    for (const { from, words, more } of partLines) {
      lines.push(`- ${from === "" ? "" : `**${from}** `}${markdownWords(words, { limit: 1_000 })}`);
      for (const detail of more) lines.push(`  - ${markdownWords(detail, { limit: 1_000 })}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

export const whyJson = formatJson<WhyStory>;
