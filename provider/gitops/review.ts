import type { Place } from "../files/finding";
import { judgeSettings } from "../files/lint";
import { isOwnFile } from "../files/own-file";
import { dueFrom, holds } from "../files/reviews";
import type { DeclaredEntry, DeclaredVip, Settings } from "../files/settings";
import { type EvidenceBase, evidenceOf, mailOf } from "../plan/evidence";
import type { Observed } from "../plan/observed";
import { instantOf } from "../plan/seen-mail";
import { printable } from "../settings/text";
import { suggest } from "./suggest";

/** Why something is to be looked at, the worst first. */
export const REVIEW_KINDS = [
  "malicious",
  "reported",
  "policy",
  "ended",
  "ending",
  "due",
  "contradicted",
  "shadowed",
  "unused",
  "targeted",
] as const;

/** Why something is to be looked at: one of {@link REVIEW_KINDS}. */
export type ReviewKind = (typeof REVIEW_KINDS)[number];

/** One thing that stands, or a person who is targeted, with all reasons to look at it. Its texts are printable. */
export interface ReviewItem {
  readonly list: "allow" | "deny" | "vip";
  /** The canonical value or mailbox. */
  readonly value: string;
  readonly scope?: string;
  readonly place?: Place;
  readonly owner?: string;
  readonly expires?: string;
  readonly reasons: readonly { readonly kind: ReviewKind; readonly evidence: string }[];
}

/** What is to be looked at, and what of it could not be asked. */
export interface Review {
  readonly items: readonly ReviewItem[];
  /** Sentences: what nobody was asked, or nobody tells. */
  readonly notAsked: readonly string[];
}

/** What the tenant holds, and what its mail says. */
export interface Asked {
  readonly observed: Observed;
  readonly base: EvidenceBase;
}

type One = DeclaredEntry | DeclaredVip;
type Tell = (kind: ReviewKind, evidence: string) => void;

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * What of a tenant's settings should be looked at, with a reason and evidence each. What somebody decided to keep is left out for as
 * long as the decision holds, but for what it can't have known: mail found malicious or reported on a later day, an end since, a rule
 * that is broken. A decision in a file that others share says nothing of this tenant's mail. Pure.
 *
 * @param asked undefined where the tenant was not asked: then only what the files alone can tell.
 * @throws {OtherTenantError} when the tenant's people have mailboxes of none of the files' own domains.
 */
export function reviewOf(settings: Settings, asked: Asked | undefined): Review {
  const { entries, vips, expired } = settings;
  const items = new Map<One, { kind: ReviewKind; evidence: string }[]>();
  const byKey = new Map([...entries, ...vips].map((one) => [`${one.kind} ${one.key}`, one]));
  const tellOf = (one: One): Tell => {
    return (kind, evidence) => {
      const reasons = items.get(one) ?? [];
      // The first that tells a kind knows most.
      if (!reasons.some((other) => other.kind === kind)) reasons.push({ kind, evidence });
      items.set(one, reasons);
    };
  };
  const isSettled = (one: One): boolean => holds(one.reviewed, settings);

  const suggestions = asked === undefined ? [] : suggest(settings, asked.observed, asked.base);
  const byPlace = new Map([...entries, ...vips].map((one) => [spot(one.place), one]));
  for (const { kind, evidence, place } of suggestions) {
    const one = place === undefined ? undefined : byPlace.get(spot(place));
    const why = OF_SUGGESTION[kind];
    if (one === undefined || why === undefined) continue;
    if (why === "malicious" ? hasMailSince(one, settings, asked, "malicious") : !isSettled(one))
      tellOf(one)(why, evidence);
  }
  for (const { code, message, subject } of judgeSettings(settings)) {
    const one = subject === undefined ? undefined : byKey.get(`${subject.kind} ${subject.key}`);
    const why = code.startsWith("policy-") ? "policy" : OF_FINDING[code];
    if (one === undefined || why === undefined) continue;
    if (why === "policy" || !isSettled(one)) tellOf(one)(why, printable(`${message}.`));
  }
  for (const one of expired) {
    if ((one.reviewed?.on ?? "") > (one.expires ?? "") && isSettled(one)) continue;
    tellOf(one)("ended", `It was declared until ${one.expires}, and its line does nothing any more.`);
  }
  if (asked !== undefined) {
    for (const one of [...entries, ...vips]) tellAsked(one, settings, asked, tellOf(one));
  }
  const people = suggestions
    .filter(({ kind }) => kind === "vip")
    .map(({ value, evidence }): ReviewItem => {
      return { list: "vip", value, reasons: [{ kind: "targeted", evidence }] };
    });
  return {
    items: [...[...items].map(([one, reasons]) => itemOf(one, reasons)), ...people].sort(byRank),
    notAsked: notAskedOf(settings, asked),
  };
}

const OF_SUGGESTION: Readonly<Record<string, ReviewKind>> = {
  "malicious-allow": "malicious",
  "expiring-allow": "ending",
  "unused-allow": "unused",
  shadowed: "shadowed",
};

const OF_FINDING: Readonly<Record<string, ReviewKind>> = {
  "expires-soon": "ending",
  "review-overdue": "due",
  contradicted: "contradicted",
  shadowed: "shadowed",
};

/** What only the tenant can tell of one, beside what is suggested. */
function tellAsked(one: One, settings: Settings, { observed, base }: Asked, tell: Tell): void {
  const { days, complete, until } = base.summary;
  const since = standsSince(one, observed);
  const { reviewEvery } = settings.policy;
  if (one.reviewed === undefined && reviewEvery !== undefined) {
    const due =
      since === undefined ? undefined : dueFrom(new Date(since).toISOString().slice(0, 10), reviewEvery);
    const isThere = (one.kind === "vip" ? observed.vips : observed.entries).has(one.key);
    if (isThere && (due === undefined || due <= settings.today)) {
      const told =
        due === undefined ? "since when it stands the service does not tell" : `it is due since ${due}`;
      tell("due", `Nobody has said that it was reviewed, and ${told} (reviewEvery: ${reviewEvery}).`);
    }
  }
  if (one.kind === "vip") return;
  const evidence = evidenceOf(base, { kind: "entry", value: one.value, entryType: one.entryType });
  if (one.list === "allow" && hasMailSince(one, settings, { observed, base }, "reported")) {
    tell(
      "reported",
      `Users reported mail from it ${evidence?.reports === 1 ? "once" : `${evidence?.reports} times`} in the last ${days} days.`,
    );
  }
  const windowStart = (instantOf(until) ?? 0) - days * DAY_MS;
  const isUnused =
    one.list === "deny" &&
    complete &&
    one.entryType !== "ip" &&
    since !== undefined &&
    since <= windowStart &&
    evidence?.threats === 0 &&
    evidence.reports === 0;
  if (isUnused && !holds(one.reviewed, settings)) {
    tell(
      "unused",
      `No mail that the service detected came from it in the last ${days} days, and nobody reported any.`,
    );
  }
}

/** Since when the tenant has it, as the service tells it. */
function standsSince(one: One, { entries, vips }: Observed): number | undefined {
  if (one.kind === "vip") return instantOf(vips.get(one.key)?.date_added);
  return instantOf(entries.get(one.key)?.find(({ list }) => list === one.list)?.created_at);
}

/** Whether there is such mail that the last decision about it can't have known. */
function hasMailSince(
  one: One,
  settings: Settings,
  asked: Asked | undefined,
  what: "malicious" | "reported",
): boolean {
  if (one.kind === "vip" || asked === undefined) return false;
  const { threats, reports } = mailOf(asked.base, {
    kind: "entry",
    value: one.value,
    entryType: one.entryType,
  });
  const isBad = ({ verdict }: { readonly verdict: string }): boolean => verdict === "malicious";
  const times = [
    ...(what === "malicious" ? threats.filter(isBad).map(({ detected }) => detected) : []),
    ...(what === "malicious" ? reports.filter(isBad) : reports).map(({ time }) => time),
  ];
  const { reviewed } = one;
  // Files that others share were decided upon for all of them.
  const isOwn = isOwnFile(one.place.file, settings);
  if (!isOwn || !holds(reviewed, settings)) return times.length > 0;
  return times.some((time) => {
    const instant = instantOf(time);
    return instant === undefined || new Date(instant).toISOString().slice(0, 10) > reviewed.on;
  });
}

function notAskedOf({ policy, entries, vips }: Settings, asked: Asked | undefined): string[] {
  const hasOwners = [...entries, ...vips].some(({ owner }) => owner !== undefined);
  return [
    ...(asked === undefined
      ? [
          "The tenant was not asked: what its mail says, what no mail came under, who is targeted, and since when something stands, is not told.",
        ]
      : asked.base.summary.missing.map(printable)),
    ...(policy.reviewEvery === undefined
      ? [
          "The policy does not say how often all is reviewed (`reviewEvery`), so that nothing is due by its age alone.",
        ]
      : []),
    ...(hasOwners
      ? [
          "Whether owners and VIPs still have a mailbox is not told: the service has no directory that can be asked.",
        ]
      : []),
  ];
}

function itemOf(one: One, reasons: ReviewItem["reasons"]): ReviewItem {
  const { place, owner, expires } = one;
  return {
    list: one.kind === "vip" ? "vip" : one.list,
    value: one.kind === "vip" ? one.email : one.value,
    ...(one.kind === "entry" ? { scope: one.verdictScope } : {}),
    place,
    ...(owner === undefined ? {} : { owner }),
    ...(expires === undefined ? {} : { expires }),
    reasons: reasons.toSorted((a, b) => rank(a.kind) - rank(b.kind)),
  };
}

function byRank(one: ReviewItem, other: ReviewItem): number {
  const worst = ({ reasons: [first] }: ReviewItem): number => rank(first?.kind ?? "targeted");
  return worst(one) - worst(other) || (one.value < other.value ? -1 : Number(one.value > other.value));
}

function rank(kind: ReviewKind): number {
  return REVIEW_KINDS.indexOf(kind);
}

function spot({ file, line, column }: Place): string {
  return `${line}:${column} ${file}`;
}
