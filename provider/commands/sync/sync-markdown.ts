import { escapeMarkdown, formatMarkdownCode, renderMarkdownDetails } from "../../render/markdown-text";
import { formatCount } from "../../render/safe-text";
import type { SkippedItems } from "../../sources/source-content";
import type { SourceReport, SyncReport } from "../../sources/sync-report";
import { formatSourceSummary, listValueGroups } from "./sync-messages";

/** Enough to review; GitHub allows 65,536 characters in a description. */
const MAX_VALUES = 200;

/** Renders the report for a pull request or a job summary. Names and values from outside become code spans. */
export function renderSyncMarkdown({ sources }: SyncReport): string {
  return sources.map((source) => renderSourceMarkdown(source)).join("\n");
}

/** Renders the report of one source. */
export function renderSourceMarkdown(source: SourceReport, maxValues = MAX_VALUES): string {
  const { name, kind, file, declaredIn, line, problem, notes } = source;
  return [
    `### ${formatMarkdownCode(name)}`,
    "",
    `${escapeMarkdown(`${formatSourceSummary(source)}.`)}`,
    "",
    `The source is of the kind ${kind}, is declared at ${formatMarkdownCode(`${declaredIn}:${line}`)}, and writes ${formatMarkdownCode(file)}.`,
    "",
    ...(problem === undefined
      ? []
      : [`**${escapeMarkdown(problem.message)}** (${formatMarkdownCode(problem.code)})`, ""]),
    ...notes.flatMap((note) => [`**${escapeMarkdown(note)}**`, ""]),
    ...listValueGroups(source).map(({ title, values }) => renderValues(title, values, maxValues)),
    ...renderGroups("Rejected", source.rejected),
    ...renderGroups("Skipped", source.skipped),
  ].join("\n");
}

function renderValues(title: string, values: readonly string[], maxValues: number): string {
  const lines = values.slice(0, maxValues).map((value) => `- ${formatMarkdownCode(value, 100)}`);
  const hidden = values.length - maxValues;
  if (hidden > 0) lines.push(`- … and ${hidden.toLocaleString("en-US")} more`);
  return renderMarkdownDetails(`${title} (${values.length.toLocaleString("en-US")})`, `${lines.join("\n")}\n`, true);
}

function renderGroups(title: string, groups: readonly SkippedItems[]): string[] {
  if (groups.length === 0) return [];
  const lines = groups.map(({ reason, count, examples }) => {
    const shown = examples.filter((example) => example !== "").map((example) => formatMarkdownCode(example, 100));
    return `- ${formatCount(count, "item")}: ${escapeMarkdown(reason)}${shown.length === 0 ? "" : ` (${shown.join(", ")})`}`;
  });
  return [`${title}:`, "", ...lines, ""];
}
