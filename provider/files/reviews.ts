import { daysOfTerm } from "../settings/term";
import { quote } from "../settings/text";
import type { Finding } from "./finding";
import type { Declared, DeclaredEntry, DeclaredVip, Settings } from "./settings";
import type { Reviewed } from "./settings-schema";

/** How long a decision holds where the team's policy says nothing of it. */
export const REVIEW_EVERY = "90d";

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * The day (UTC) from which on something is to be looked at anew, `2027-02-21`; far ahead where days end.
 *
 * @param from the day of the last decision, or on which it came to be.
 * @param every as `policy.reviewEvery` has it.
 */
export function dueFrom(from: string, every: string = REVIEW_EVERY): string {
  const days = daysOfTerm(every) ?? daysOfTerm(REVIEW_EVERY) ?? 0;
  const time = Date.parse(`${from}T00:00:00Z`) + days * DAY_MS;
  return time > LAST_DAY ? "9999-12-31" : new Date(time).toISOString().slice(0, 10);
}

const LAST_DAY = Date.parse("9999-12-31T00:00:00Z");

/**
 * Whether a decision holds on a day. One that is dated more than a day ahead (somewhere it is tomorrow already) does not: it
 * would put off the next one for as long as somebody likes.
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
 * What the files alone tell of reviews, where the policy asks for them: a warning for each decision that is past its time, and a
 * note a file of how much in it says nothing of a review. Since when that stands only the service knows.
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

/** At the first of them in the file. */
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
