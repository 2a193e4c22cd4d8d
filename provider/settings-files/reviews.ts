import { parseTermDays } from "../model/expiry-term";
import { quote } from "../model/text";
import type { Finding } from "./finding";
import type { DeclaredElement, DeclaredEntry, DeclaredVip, Settings } from "./settings-model";
import type { ElementReview } from "./settings-schema";

export const DEFAULT_REVIEW_INTERVAL = "90d";

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Returns the day (UTC) from which a review is due: `2027-02-21`. Capped at the last valid day.
 *
 * @param startDay the day of the last review, or of creation.
 */
export function getReviewDueDay(startDay: string, interval: string = DEFAULT_REVIEW_INTERVAL): string {
  const days = parseTermDays(interval) ?? parseTermDays(DEFAULT_REVIEW_INTERVAL) ?? 0;
  const time = Date.parse(`${startDay}T00:00:00Z`) + days * DAY_MS;
  return time > LAST_TIME ? "9999-12-31" : new Date(time).toISOString().slice(0, 10);
}

const LAST_TIME = Date.parse("9999-12-31T00:00:00Z");

/**
 * Returns whether a review is valid on a day. A date more than a day ahead (the allowance is for time zones) is invalid: it could postpone
 * the next review indefinitely.
 */
export function isReviewValid(
  reviewed: ElementReview | undefined,
  { today, policy }: Pick<Settings, "today" | "policy">,
): reviewed is ElementReview {
  if (reviewed === undefined || isFutureDated(reviewed, today)) return false;
  return today < getReviewDueDay(reviewed.on, policy.reviewEvery);
}

function isFutureDated({ on }: ElementReview, today: string): boolean {
  return on > getReviewDueDay(today, "1d");
}

/** Reports the finding at the first one in the file. */
export function findReviewProblems(settings: Settings): Finding[] {
  const { entries, vips, policy } = settings;
  const { reviewEvery } = policy;
  if (reviewEvery === undefined) return [];
  const declarations = [...entries, ...vips];
  const overdue = declarations.flatMap((declaration): Finding[] =>
    declaration.reviewed === undefined || isReviewValid(declaration.reviewed, settings)
      ? []
      : [buildOverdueFinding(declaration, declaration.reviewed, reviewEvery, settings.today)],
  );
  const unreviewedByFile = Map.groupBy(
    declarations.filter(({ reviewed }) => reviewed === undefined),
    ({ location }) => location.file,
  );
  return [
    ...overdue,
    ...[...unreviewedByFile.values()].map((unreviewed) => buildNeverReviewedFinding(unreviewed, reviewEvery)),
  ];
}

function buildOverdueFinding(
  declaration: DeclaredEntry | DeclaredVip,
  reviewed: ElementReview,
  interval: string,
  today: string,
): Finding {
  const { on, by } = reviewed;
  const statusText = isFutureDated(reviewed, today)
    ? `has the review date ${on}, which is in the future`
    : `was last reviewed on ${on} by ${quote(by)}, and its next review was due on ${getReviewDueDay(on, interval)} (reviewEvery: ${interval})`;
  return {
    code: "review-overdue",
    level: "warning",
    message: `${quote(declaration.rawValue)} ${statusText}; review it again, and write the date and your name in its \`reviewed\` field, or remove it`,
    place: declaration.location,
    subject: { kind: declaration.kind, key: declaration.key },
  };
}

/** Reports at the first one in the file. */
function buildNeverReviewedFinding(unreviewed: readonly (DeclaredEntry | DeclaredVip)[], interval: string): Finding {
  const [first] = unreviewed.toSorted(({ location: a }, { location: b }) => a.line - b.line);
  const vips = unreviewed.filter(({ kind }) => kind === "vip").length;
  const entries = unreviewed.length - vips;
  const countsText = [
    ...(entries === 0 ? [] : [entries === 1 ? "1 entry" : `${entries} entries`]),
    ...(vips === 0 ? [] : [vips === 1 ? "1 VIP" : `${vips} VIPs`]),
  ].join(" and ");
  const message = `${countsText} of this file, from this line on, ${unreviewed.length === 1 ? "says" : "say"} nothing about a review, but all are due every ${interval}; after a review, add \`reviewed: { on, by }\``;
  return { code: "never-reviewed", level: "note", message, ...buildLocationField(first) };
}

function buildLocationField(declaration: DeclaredElement | undefined): Pick<Finding, "place"> {
  return declaration === undefined ? {} : { place: declaration.location };
}
