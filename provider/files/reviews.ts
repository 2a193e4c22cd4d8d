import { daysOfTerm } from "../settings/term";
import { quote } from "../settings/text";
import type { Finding } from "./finding";
import type { Declared, DeclaredEntry, DeclaredVip, Settings } from "./settings";
import type { Reviewed } from "./settings-schema";

/** The default review interval. */
export const REVIEW_EVERY = "90d";

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Returns the day (UTC) from which a review is due: `2027-02-21`. Capped at the last valid day.
 *
 * @param startDay the day of the last review, or of creation.
 * @param interval the interval, as in `policy.reviewEvery`.
 */
export function dueFrom(startDay: string, interval: string = REVIEW_EVERY): string {
  const days = daysOfTerm(interval) ?? daysOfTerm(REVIEW_EVERY) ?? 0;
  const time = Date.parse(`${startDay}T00:00:00Z`) + days * DAY_MS;
  return time > LAST_TIME ? "9999-12-31" : new Date(time).toISOString().slice(0, 10);
}

const LAST_TIME = Date.parse("9999-12-31T00:00:00Z");

/**
 * Returns whether a review is valid on a day. A date more than a day ahead (the allowance is for time zones) is invalid: it could postpone
 * the next review indefinitely.
 */
export function holds(
  reviewed: Reviewed | undefined,
  { today, policy }: Pick<Settings, "today" | "policy">,
): reviewed is Reviewed {
  if (reviewed === undefined || isFutureDated(reviewed, today)) return false;
  return today < dueFrom(reviewed.on, policy.reviewEvery);
}

function isFutureDated({ on }: Reviewed, today: string): boolean {
  return on > dueFrom(today, "1d");
}

/**
 * Returns review findings if the policy requires reviews: a warning for each overdue review, and a note per file that counts declarations
 * without one. Only the service knows how long those have existed.
 */
export function reviewFindings(settings: Settings): Finding[] {
  const { entries, vips, policy } = settings;
  const { reviewEvery } = policy;
  if (reviewEvery === undefined) return [];
  const declarations = [...entries, ...vips];
  const overdue = declarations.flatMap((declaration): Finding[] =>
    declaration.reviewed === undefined || holds(declaration.reviewed, settings)
      ? []
      : [buildOverdueFinding(declaration, declaration.reviewed, reviewEvery, settings.today)],
  );
  const unreviewedByFile = Map.groupBy(
    declarations.filter(({ reviewed }) => reviewed === undefined),
    ({ place }) => place.file,
  );
  return [
    ...overdue,
    ...[...unreviewedByFile.values()].map((unreviewed) => buildNeverReviewedFinding(unreviewed, reviewEvery)),
  ];
}

function buildOverdueFinding(
  declaration: DeclaredEntry | DeclaredVip,
  reviewed: Reviewed,
  interval: string,
  today: string,
): Finding {
  const { on, by } = reviewed;
  const statusText = isFutureDated(reviewed, today)
    ? `is said to be reviewed on ${on}, which is ahead`
    : `was reviewed on ${on} by ${quote(by)}, and is due again since ${dueFrom(on, interval)} (reviewEvery: ${interval})`;
  return {
    code: "review-overdue",
    level: "warning",
    message: `${quote(declaration.written)} ${statusText}; look at it anew, and write when and who in its \`reviewed\`, or take it away`,
    place: declaration.place,
    subject: { kind: declaration.kind, key: declaration.key },
  };
}

/** Reports at the first one in the file. */
function buildNeverReviewedFinding(unreviewed: readonly (DeclaredEntry | DeclaredVip)[], interval: string): Finding {
  const [first] = unreviewed.toSorted(({ place: one }, { place: other }) => one.line - other.line);
  const vips = unreviewed.filter(({ kind }) => kind === "vip").length;
  const entries = unreviewed.length - vips;
  const countsText = [
    ...(entries === 0 ? [] : [entries === 1 ? "1 entry" : `${entries} entries`]),
    ...(vips === 0 ? [] : [vips === 1 ? "1 VIP" : `${vips} VIPs`]),
  ].join(" and ");
  const message = `${countsText} of this file ${unreviewed.length === 1 ? "says" : "say"} nothing of a review, from here on, and the team reviews all every ${interval}; what was looked at gets \`reviewed: { on, by }\``;
  return { code: "never-reviewed", level: "note", message, ...buildLocationField(first) };
}

function buildLocationField(declaration: Declared | undefined): Pick<Finding, "place"> {
  return declaration === undefined ? {} : { place: declaration.place };
}
