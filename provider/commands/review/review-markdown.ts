import { escapeMarkdown, markdownCode } from "../../render/markdown-text";
import { filled } from "../../render/room";
import { REVIEW_TITLES } from "./review-kinds";
import type { ReviewItem, ReviewReport } from "./review-schema";
import { aboutOf, DECIDE, summaryOf, UNREAD, whatOf } from "./review-words";

/** How many bytes of an issue's text it may take; GitHub takes 65,536 characters in all. */
const MARKDOWN_ROOM = 60_000;

/** A review for an issue: a box each; what has no room is counted. */
export function reviewMarkdown(report: ReviewReport): string {
  const { items, notAsked, unread } = report;
  const head = [
    "<!-- email-security-review -->",
    `**${escapeMarkdown(summaryOf(report))}**`,
    "",
    ...(unread.length === 0
      ? []
      : [`**${UNREAD}** ${unread.map((told) => escapeMarkdown(told)).join(" ")}\n`]),
    ...notAsked.map((told) => `${escapeMarkdown(told)}\n`),
    ...(items.length === 0 ? [] : [escapeMarkdown(DECIDE), ""]),
  ].join("\n");
  const brief = (item: ReviewItem): string =>
    `- [ ] ${whatOf(item)} ${markdownCode(item.value)}: ${item.reasons.map(({ kind }) => REVIEW_TITLES[kind]).join(", ")}\n`;
  const whole = (item: ReviewItem): string =>
    [
      `- [ ] ${whatOf(item)} ${markdownCode(item.value)}${escapeMarkdown(aboutOf(item))}`,
      ...item.reasons.map(
        ({ kind, evidence }) => `  - **${REVIEW_TITLES[kind]}.** ${escapeMarkdown(evidence)}`,
      ),
      "",
    ].join("\n");
  return filled(
    `${head}\n`,
    [items.map((item) => () => whole(item)), items.map((item) => () => brief(item))],
    MARKDOWN_ROOM,
    (rest) => `… and ${rest} more; \`email-security review\` tells all of them.\n`,
  );
}
