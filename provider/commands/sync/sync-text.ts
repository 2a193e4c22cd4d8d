import { quote, sanitizeMultiline } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import { wrapHangingIndent } from "../../render/text-width";
import type { SkippedItems } from "../../sources/source-content";
import type { SourceReport, SyncReport } from "../../sources/sync-report";
import { formatSourceSummary, listValueGroups } from "./sync-messages";

const MAX_VALUES = 20;

/** Renders the report for a terminal. Names and values from outside are sanitized. */
export function renderSyncText({ sources }: SyncReport, columns = 80): string {
  const lines: string[] = [];
  const addLine = (indent: number, text: string): void => {
    lines.push(...wrapHangingIndent(indent, text, columns));
  };
  for (const source of sources) addSource(source, addLine);
  return sanitizeMultiline(`${lines.join("\n")}\n`);
}

type AddLine = (indent: number, text: string) => void;

function addSource(source: SourceReport, addLine: AddLine): void {
  addLine(0, `${source.name} (${source.file}): ${formatSourceSummary(source)}`);
  if (source.problem !== undefined) addLine(2, `${source.problem.message} [${source.problem.code}]`);
  for (const { title, values } of listValueGroups(source)) {
    addLine(2, `${title}:`);
    for (const value of values.slice(0, MAX_VALUES)) addLine(4, quote(value).slice(1, -1));
    if (values.length > MAX_VALUES) addLine(4, `… and ${(values.length - MAX_VALUES).toLocaleString("en-US")} more`);
  }
  addGroups("Rejected", source.rejected, addLine);
  addGroups("Skipped", source.skipped, addLine);
  for (const note of source.notes) addLine(2, note);
}

function addGroups(title: string, groups: readonly SkippedItems[], addLine: AddLine): void {
  for (const { reason, count, examples } of groups) {
    const shown = examples.filter((example) => example !== "").map((example) => quote(example));
    const suffix = shown.length === 0 ? "" : `, such as ${shown.join(", ")}`;
    addLine(2, `${title} ${formatCount(count, "item")}: ${reason}${suffix}`);
  }
}
