import { hanging } from "../../render/columns";
import { excerpt, harmless } from "../../settings/text";
import { unicodeOf } from "../../settings/unicode-value";
import { REVIEW_TITLES } from "./review-kinds";
import type { ReviewReport } from "./review-schema";
import { aboutOf, DECIDE, summaryOf, UNREAD, whatOf } from "./review-words";

/**
 * Renders a review for a terminal, the worst first. Escapes control characters from outside.
 *
 * @param columns the terminal's width.
 */
export function reviewText(report: ReviewReport, columns = 80): string {
  const lines: string[] = [];
  const addLine = (indent: number, text: string): void => {
    lines.push(...hanging(indent, text, columns));
  };
  addLine(0, summaryOf(report));
  for (const item of report.items) {
    const { value, reasons } = item;
    const unicode = unicodeOf(value);
    lines.push("");
    addLine(
      0,
      `${whatOf(item)} ${excerpt(value, 330)}${unicode === undefined ? "" : ` (${excerpt(unicode, 330)})`}${aboutOf(item)}`,
    );
    for (const { kind, evidence } of reasons) addLine(2, `${REVIEW_TITLES[kind]}. ${evidence}`);
  }
  if (report.items.length > 0) {
    lines.push("");
    addLine(0, DECIDE);
  }
  for (const [heading, notes] of [[UNREAD, report.unread] as const, ["Not known:", report.notAsked] as const]) {
    if (notes.length === 0) continue;
    lines.push("", heading);
    for (const note of notes) addLine(2, note);
  }
  return harmless(`${lines.join("\n")}\n`);
}
