import { escapeMarkdown, formatMarkdownCode } from "../../render/markdown-text";
import { renderWithinLimit } from "../../render/render-within-limit";
import { REVIEW_TITLES } from "./review-kinds";
import { DECISION_HELP, formatItemDetails, formatReviewSummary, getItemNoun, UNREAD_HEADING } from "./review-messages";
import type { ReviewItem, ReviewReport } from "./review-schema";

/** The most bytes of the review in an issue; GitHub allows 65,536 characters in total. */
const MAX_MARKDOWN_BYTES = 60_000;

/** Renders a review for an issue: one checkbox per item, and a count of the items that don't fit. */
export function renderReviewMarkdown(report: ReviewReport): string {
  const { items, limitations, missingEvidence } = report;
  const head = [
    "<!-- email-security-review -->",
    `**${escapeMarkdown(formatReviewSummary(report))}**`,
    "",
    ...(missingEvidence.length === 0
      ? []
      : [`**${UNREAD_HEADING}** ${missingEvidence.map((note) => escapeMarkdown(note)).join(" ")}\n`]),
    ...limitations.map((note) => `${escapeMarkdown(note)}\n`),
    ...(items.length === 0 ? [] : [escapeMarkdown(DECISION_HELP), ""]),
  ].join("\n");
  const renderBriefItem = (item: ReviewItem): string =>
    `- [ ] ${getItemNoun(item)} ${formatMarkdownCode(item.value)}: ${item.reasons.map(({ kind }) => REVIEW_TITLES[kind]).join(", ")}\n`;
  const renderFullItem = (item: ReviewItem): string =>
    [
      `- [ ] ${getItemNoun(item)} ${formatMarkdownCode(item.value)}${escapeMarkdown(formatItemDetails(item))}`,
      ...item.reasons.map(({ kind, evidence }) => `  - **${REVIEW_TITLES[kind]}.** ${escapeMarkdown(evidence)}`),
      "",
    ].join("\n");
  return renderWithinLimit(
    `${head}\n`,
    [items.map((item) => () => renderFullItem(item)), items.map((item) => () => renderBriefItem(item))],
    MAX_MARKDOWN_BYTES,
    (hiddenCount) => `… and ${hiddenCount} more; \`email-security review\` shows all of them.\n`,
  );
}
