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
 * @param from the day of the last review, or of creation.
 * @param every the interval, as in `policy.reviewEvery`.
 */
export function dueFrom(from: string, every: string = REVIEW_EVERY): string {
  const days = daysOfTerm(every) ?? daysOfTerm(REVIEW_EVERY) ?? 0;
  const time = Date.parse(`${from}T00:00:00Z`) + days * DAY_MS;
  return time > LAST_DAY ? "9999-12-31" : new Date(time).toISOString().slice(0, 10);
}

const LAST_DAY = Date.parse("9999-12-31T00:00:00Z");

/**
 * Returns whether a review is valid on a day. A date more than a day ahead (the allowance is for time zones) is invalid: it could postpone
 * the next review indefinitely.
 */
export function holds(
  reviewed: Reviewed | undefined,
  { today, policy }: Pick<Settings, "today" | "policy">,
): reviewed is Reviewed {
  if (reviewed === undefined || isAhead(reviewed, today)) return false;
  return today < dueFrom(reviewed.on, policy.reviewEvery);
}

function isAhead({ on }: Reviewed, today: string): boolean {
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
  const all = [...entries, ...vips];
  const overdue = all.flatMap((one): Finding[] =>
    one.reviewed === undefined || holds(one.reviewed, settings)
      ? []
      : [overdueFinding(one, one.reviewed, reviewEvery, settings.today)],
  );
  const never = Map.groupBy(
    all.filter(({ reviewed }) => reviewed === undefined),
    ({ place }) => place.file,
  );
  return [...overdue, ...[...never.values()].map((some) => neverFinding(some, reviewEvery))];
}

function overdueFinding(
  one: DeclaredEntry | DeclaredVip,
  reviewed: Reviewed,
  every: string,
  today: string,
): Finding {
  const { on, by } = reviewed;
  const since = isAhead(reviewed, today)
    ? `is said to be reviewed on ${on}, which is ahead`
    : `was reviewed on ${on} by ${quote(by)}, and is due again since ${dueFrom(on, every)} (reviewEvery: ${every})`;
  return {
    code: "review-overdue",
    level: "warning",
    message: `${quote(one.written)} ${since}; look at it anew, and write when and who in its \`reviewed\`, or take it away`,
    place: one.place,
    subject: { kind: one.kind, key: one.key },
  };
}

/** Reports at the first one in the file. */
function neverFinding(some: readonly (DeclaredEntry | DeclaredVip)[], every: string): Finding {
  const [first] = some.toSorted(({ place: one }, { place: other }) => one.line - other.line);
  const vips = some.filter(({ kind }) => kind === "vip").length;
  const entries = some.length - vips;
  const told = [
    ...(entries === 0 ? [] : [entries === 1 ? "1 entry" : `${entries} entries`]),
    ...(vips === 0 ? [] : [vips === 1 ? "1 VIP" : `${vips} VIPs`]),
  ].join(" and ");
  const message = `${told} of this file ${some.length === 1 ? "says" : "say"} nothing of a review, from here on, and the team reviews all every ${every}; what was looked at gets \`reviewed: { on, by }\``;
  return { code: "never-reviewed", level: "note", message, ...placeOf(first) };
}

function placeOf(one: Declared | undefined): Pick<Finding, "place"> {
  return one === undefined ? {} : { place: one.place };
}
