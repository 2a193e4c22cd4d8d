import { decodePunycode } from "../../model/decode-punycode";
import { excerpt, sanitizeMultiline } from "../../model/text";
import { wrapHangingIndent } from "../../render/text-width";
import { REVIEW_TITLES } from "./review-kinds";
import { DECISION_HELP, formatItemDetails, formatReviewSummary, getItemNoun, UNREAD_HEADING } from "./review-messages";
import type { ReviewReport } from "./review-schema";

/** Renders a review for a terminal, the worst first. Escapes control characters from outside. */
export function renderReviewText(report: ReviewReport, columns = 80): string {
  const lines: string[] = [];
  const addLine = (indent: number, text: string): void => {
    lines.push(...wrapHangingIndent(indent, text, columns));
  };
  addLine(0, formatReviewSummary(report));
  for (const item of report.items) {
    const { value, reasons } = item;
    const unicode = decodePunycode(value);
    lines.push("");
    addLine(
      0,
      `${getItemNoun(item)} ${excerpt(value, 330)}${unicode === undefined ? "" : ` (${excerpt(unicode, 330)})`}${formatItemDetails(item)}`,
    );
    for (const { kind, evidence } of reasons) addLine(2, `${REVIEW_TITLES[kind]}. ${evidence}`);
  }
  if (report.items.length > 0) {
    lines.push("");
    addLine(0, DECISION_HELP);
  }
  for (const [heading, notes] of [
    [UNREAD_HEADING, report.missingEvidence] as const,
    ["Not known:", report.limitations] as const,
  ]) {
    if (notes.length === 0) continue;
    lines.push("", heading);
    for (const note of notes) addLine(2, note);
  }
  return sanitizeMultiline(`${lines.join("\n")}\n`);
}
