import { lineText } from "../files/finding";
import { escapeMarkdown, markdownCode } from "../plan/render/markdown-text";
import { filled } from "../plan/render/room";
import { excerpt } from "../settings/text";
import type { Review, ReviewItem, ReviewKind } from "./review";

const TITLES: Readonly<Record<ReviewKind, string>> = {
  malicious: "Found malicious",
  reported: "Reported by users",
  policy: "Breaks the policy",
  ended: "Ended",
  ending: "Ends soon",
  due: "Due for review",
  contradicted: "Contradicted",
  shadowed: "Needless",
  unused: "Unused",
  targeted: "Targeted, and no VIP",
};

/** A review for a terminal. Nothing from outside does anything in it. */
export function reviewText({ items, notAsked }: Review, name: string): string {
  const lines = [summary(items, name), ...notAsked];
  for (const item of items) {
    lines.push("", `${item.list} ${excerpt(item.value, 300)}${aboutOf(item)}`);
    for (const { kind, evidence } of item.reasons) lines.push(`  - ${TITLES[kind]}. ${evidence}`);
  }
  return `${lines.join("\n")}\n`;
}

/** How many bytes of an issue's text it may take; GitHub takes 65,536 characters in all. */
const MARKDOWN_ROOM = 60_000;

/** A review for an issue: a box each; what has no room is counted. */
export function reviewMarkdown({ items, notAsked }: Review, name: string): string {
  const head = [
    "<!-- email-security-review -->",
    `**${escapeMarkdown(summary(items, name))}**`,
    "",
    ...notAsked.map((told) => `${escapeMarkdown(told)}\n`),
    ...(items.length === 0
      ? []
      : [
          "Decide with `email-security review keep`, `extend` or `drop`; what is decided leaves this list.",
          "",
        ]),
  ].join("\n");
  const brief = (item: ReviewItem): string =>
    `- [ ] ${item.list} ${markdownCode(item.value)}: ${item.reasons.map(({ kind }) => TITLES[kind]).join(", ")}\n`;
  const whole = (item: ReviewItem): string =>
    [
      `- [ ] ${item.list} ${markdownCode(item.value)}${escapeMarkdown(aboutOf(item))}`,
      ...item.reasons.map(({ kind, evidence }) => `  - **${TITLES[kind]}.** ${escapeMarkdown(evidence)}`),
      "",
    ].join("\n");
  return filled(
    `${head}\n`,
    [items.map((item) => () => whole(item)), items.map((item) => () => brief(item))],
    MARKDOWN_ROOM,
    (rest) => `… and ${rest} more; \`email-security review\` tells all of them.\n`,
  );
}

function summary({ length }: readonly ReviewItem[], name: string): string {
  const of = excerpt(name, 300);
  return length === 0 ? `Nothing of ${of} to look at.` : `To look at in ${of}: ${length}.`;
}

function aboutOf({ scope, place, owner, expires }: ReviewItem): string {
  const about = [
    ...(scope === undefined || scope === "global" ? [] : [excerpt(scope)]),
    ...(owner === undefined ? [] : [`owner ${excerpt(owner)}`]),
    ...(expires === undefined ? [] : [expires === "never" ? "never ends" : `until ${expires}`]),
    ...(place === undefined ? [] : [lineText(place)]),
  ];
  return about.length === 0 ? "" : ` (${about.join(", ")})`;
}
