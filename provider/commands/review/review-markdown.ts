import { escapeMarkdown, markdownCode } from "../../render/markdown-text";
import { filled } from "../../render/room";
import { REVIEW_TITLES } from "./review-kinds";
import type { ReviewItem, ReviewReport } from "./review-schema";
import { aboutOf, DECIDE, summaryOf, UNREAD, whatOf } from "./review-words";

/** The most bytes of the review in an issue; GitHub allows 65,536 characters in total. */
const MAX_MARKDOWN_BYTES = 60_000;

/** Renders a review for an issue: one checkbox per item, and a count of the items that don't fit. */
export function reviewMarkdown(report: ReviewReport): string {
  const { items, notAsked, unread } = report;
  const head = [
    "<!-- email-security-review -->",
    `**${escapeMarkdown(summaryOf(report))}**`,
    "",
    ...(unread.length === 0 ? [] : [`**${UNREAD}** ${unread.map((note) => escapeMarkdown(note)).join(" ")}\n`]),
    ...notAsked.map((note) => `${escapeMarkdown(note)}\n`),
    ...(items.length === 0 ? [] : [escapeMarkdown(DECIDE), ""]),
  ].join("\n");
  const renderBriefItem = (item: ReviewItem): string =>
    `- [ ] ${whatOf(item)} ${markdownCode(item.value)}: ${item.reasons.map(({ kind }) => REVIEW_TITLES[kind]).join(", ")}\n`;
  const renderFullItem = (item: ReviewItem): string =>
    [
      `- [ ] ${whatOf(item)} ${markdownCode(item.value)}${escapeMarkdown(aboutOf(item))}`,
      ...item.reasons.map(({ kind, evidence }) => `  - **${REVIEW_TITLES[kind]}.** ${escapeMarkdown(evidence)}`),
      "",
    ].join("\n");
  return filled(
    `${head}\n`,
    [items.map((item) => () => renderFullItem(item)), items.map((item) => () => renderBriefItem(item))],
    MAX_MARKDOWN_BYTES,
    (hiddenCount) => `… and ${hiddenCount} more; \`email-security review\` tells all of them.\n`,
  );
}
