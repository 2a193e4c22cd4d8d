import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { excerpt, quote } from "../../model/text";
import { formatCount, toSingleLine } from "../../render/safe-text";
import { describeElementSource } from "../../settings-files/element-source";
import { formatLineLocation } from "../../settings-files/finding";
import type { ReviewItem, ReviewReport } from "./review-schema";

export const DECISION_HELP =
  "Decide with `email-security review keep`, `extend` or `drop`; decided entries leave this list. Included entries apply to other tenants too: `--baseline` decides for all of them, except on reasons from one tenant's mail.";

/** Introduces the list of data that could not be read. */
export const UNREAD_HEADING = "Some data could not be read, so there may be more to review:";

/** Formats a summary, such as "3 items to review in settings.yaml: 1 allow, 2 denies." The result is safe to print. */
export function formatReviewSummary({
  items,
  file,
  missingEvidence,
}: Pick<ReviewReport, "items" | "file" | "missingEvidence">): string {
  const fileText = excerpt(file, 300);
  if (items.length === 0 && missingEvidence.length > 0)
    return `No items to review in ${fileText}, in what could be read.`;
  if (items.length === 0) return `No items to review in ${fileText}.`;
  return `${formatCount(items.length, "item")} to review in ${fileText}: ${formatReviewCounts(items)}.`;
}

/** Formats counts, such as "1 allow, 2 denies, 1 person". */
export function formatReviewCounts(items: readonly ReviewItem[]): string {
  return ITEM_NOUNS.map(([singular, plural]) => ({
    one: singular,
    many: plural,
    count: items.filter((item) => getItemNoun(item) === singular).length,
  }))
    .filter(({ count }) => count > 0)
    .map(({ one, many, count }) => formatCount(count, one, many))
    .join(", ");
}

const ITEM_NOUNS = [
  ["allow", "allows"],
  ["deny", "denies"],
  ["VIP", "VIPs"],
  ["person", "people"],
] as const;

/** Returns the noun for an item. A targeted person isn't a VIP yet. */
export function getItemNoun({ list, reasons }: ReviewItem): (typeof ITEM_NOUNS)[number][0] {
  if (list !== "vip") return list;
  return reasons.some(({ kind }) => kind === "targeted") ? "person" : "VIP";
}

/** Formats details, such as " (graymail, owner Dana, until 2027-03-31, settings.yaml:5)". The result is safe to print. */
export function formatItemDetails({
  scope,
  place,
  isShared,
  comment,
  ticket,
  owner,
  expires,
  source,
}: ReviewItem): string {
  const details = [
    ...(scope === undefined || scope === DEFAULT_VERDICT_SCOPE ? [] : [excerpt(scope)]),
    ...(comment ? [quote(toSingleLine(comment), 120)] : []),
    ...(ticket === undefined ? [] : [excerpt(ticket)]),
    ...(owner === undefined ? [] : [`owner ${excerpt(owner)}`]),
    ...(expires === undefined ? [] : [formatItemExpiry(expires)]),
    ...(source === undefined ? [] : [describeElementSource(source)]),
    ...(place === undefined ? [] : [formatLineLocation(place) + (isShared === true ? ", included" : "")]),
  ];
  return details.length === 0 ? "" : ` (${details.join(", ")})`;
}

function formatItemExpiry(expires: string): string {
  return expires === "never" ? "never expires" : `until ${expires}`;
}
