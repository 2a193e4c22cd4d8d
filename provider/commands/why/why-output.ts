import type { WhyStory } from "../../gitops/why-schema";
import { markdownWords } from "../../render/markdown-text";
import { Paper } from "../../render/paper";
import { formatJson } from "../../settings/text";
import { whyReport } from "./why-report";

/** A story for a terminal. Nothing from outside does anything in it. */
export function whyText(
  story: WhyStory,
  { color = false, width = 80 }: { readonly color?: boolean; readonly width?: number } = {},
): string {
  const { title, about, parts } = whyReport(story);
  const paper = new Paper(color, width);
  paper.text(title, { style: "bold" });
  paper.text(about, { style: "dim" });
  for (const { title: heading, lines } of parts) {
    paper.heading(heading);
    for (const { from, words, more } of lines) {
      if (from === "") paper.labelled("-", words, { indent: 2 });
      else paper.labelled(from, words, { indent: 2, labelWidth: LABEL, style: "dim" });
      for (const one of more) paper.text(one, { indent: LABEL + 6, style: "dim" });
    }
  }
  return paper.toString();
}

const LABEL = "journal".length;

/** A story as Markdown: what came from outside stands in code spans. */
export function whyMarkdown(story: WhyStory): string {
  const { title, about, parts } = whyReport(story);
  const lines = [`## ${markdownWords(title)}`, "", markdownWords(about)];
  for (const { title: heading, lines: own } of parts) {
    lines.push("", `### ${markdownWords(heading)}`, "");
    for (const { from, words, more } of own) {
      lines.push(`- ${from === "" ? "" : `**${from}** `}${markdownWords(words, { limit: 1_000 })}`);
      for (const one of more) lines.push(`  - ${markdownWords(one, { limit: 1_000 })}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

export const whyJson = formatJson<WhyStory>;
