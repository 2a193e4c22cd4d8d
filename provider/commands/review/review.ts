import type { Place } from "../../files/finding";
import { judgeSettings } from "../../files/lint";
import { isOwnFile } from "../../files/own-file";
import { holds } from "../../files/reviews";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../files/settings";
import { OwnDomains } from "../../settings/own-domains";
import { printable } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { suggest } from "../suggest/suggest";
import { Context } from "../suggest/suggest-context";
import { foundAtTenant, hasMailSince } from "./found-at-tenant";
import { notAskedOf } from "./not-asked";
import { outsideOwner, outsideVip } from "./outsiders";
import type { ReviewKind } from "./review-kinds";
import type { Reason, ReviewItem } from "./review-schema";
import { foundOfEnded, ignoredBy, staysAtTenant, undeclaredAllows } from "./undeclared-allows";
import { type Asked, byRank, type Review, withReasons } from "./worklist";

/** How far a review looks. */
export interface ReviewOptions {
  /** What ends within so many days is told. Default: 30. */
  readonly withinDays?: number;
}

type One = DeclaredEntry | DeclaredVip;

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * What of a tenant's settings should be looked at, with a reason and evidence each. What somebody decided to keep is left out for as
 * long as the decision holds, but for what it can't have known: mail found malicious or reported on a later day, an end since, a rule
 * that is broken. A decision in a file that others share says nothing of this tenant's mail. Pure.
 *
 * @param asked undefined where the tenant was not asked: then only what the files alone can tell.
 * @throws {OtherTenantError} when the tenant's people have mailboxes of none of the files' own domains.
 */
export function reviewOf(
  settings: Settings,
  asked: Asked | undefined,
  { withinDays = 30 }: ReviewOptions = {},
): Review {
  const { entries, vips, expired, today } = settings;
  const all: readonly One[] = [...entries, ...vips];
  const reasons = new Map<One, Reason[]>();
  const tell = (one: One, reason: Reason | undefined): void => {
    if (reason === undefined) return;
    const some = reasons.get(one) ?? [];
    const at = some.findIndex(({ kind }) => kind === reason.kind);
    const { [at]: told } = some;
    if (told === undefined) some.push(reason);
    // Several rules may be broken; else the first that tells a kind knows most.
    else if (reason.kind === "policy") {
      some[at] = { ...reason, evidence: `${told.evidence} ${reason.evidence}` };
    }
    reasons.set(one, some);
  };
  const isSettled = (one: One): boolean => holds(one.reviewed, settings);

  const suggestions =
    asked === undefined
      ? []
      : suggest(settings, asked.observed, asked.base, { expiringDays: withinDays, maxVips: MOST_PEOPLE });
  const byPlace = new Map(all.map((one) => [spot(one.place), one]));
  for (const { kind, evidence, place } of suggestions) {
    const one = place === undefined ? undefined : byPlace.get(spot(place));
    const why = OF_SUGGESTION[kind];
    if (one === undefined || why === undefined) continue;
    const isNews = why === "malicious" ? hasMailSince(one, settings, asked, why) : !isSettled(one);
    if (isNews) tell(one, { kind: why, evidence });
  }
  const byKey = new Map(all.map((one) => [`${one.kind} ${one.key}`, one]));
  for (const { code, message, subject } of judgeSettings(settings)) {
    const one = subject === undefined ? undefined : byKey.get(`${subject.kind} ${subject.key}`);
    const why = code.startsWith("policy-") ? "policy" : OF_FINDING[code];
    if (one === undefined || why === undefined) continue;
    if (why === "policy" || !isSettled(one)) tell(one, { kind: why, evidence: printable(`${message}.`) });
  }
  for (const one of expired) {
    const stays = asked !== undefined && staysAtTenant(one, { settings, observed: asked.observed });
    if (!stays && (one.reviewed?.on ?? "") > (one.expires ?? "") && isSettled(one)) continue;
    const evidence = stays
      ? `It was declared until ${one.expires}, and the tenant still holds it: a run takes it away where its stack has it (\`apply --only-expired\`), else remove it in the console.`
      : `It was declared until ${one.expires}, and its line does nothing any more.`;
    tell(one, { kind: "ended", evidence });
  }
  const own = new OwnDomains(settings.ownDomains);
  for (const one of all) {
    if (isSettled(one)) continue;
    tell(one, endingOf(one, today, withinDays));
    tell(one, outsideOwner(one, own));
    tell(one, outsideVip(one, own));
  }
  const items = [];
  if (asked !== undefined) {
    const context = new Context(settings, asked.observed, asked.base);
    for (const one of all) for (const reason of foundAtTenant(one, context)) tell(one, reason);
    for (const one of expired) for (const reason of foundOfEnded(one, context)) tell(one, reason);
    items.push(...undeclaredAllows(context));
  }
  const isLeftOut = ignoredBy(settings.lists.vips?.ignore);
  const people = suggestions
    .filter(({ kind, value }) => kind === "vip" && !isLeftOut({ value }))
    .map(({ value, evidence }) =>
      withReasons({ list: "vip", value }, [{ kind: "targeted", evidence: `${evidence} ${MAKE_VIP}` }]),
    );
  const declared = [...reasons].map(([one, some]) => withReasons(itemOf(one, settings), some));
  return {
    items: [...declared, ...items, ...people].sort(byRank),
    unread: asked?.base.summary.missing.map((missing) => printable(missing)) ?? [],
    notAsked: [...notAskedOf(settings, asked), ...(people.length < MOST_PEOPLE ? [] : [MORE_PEOPLE])],
  };
}

const MAKE_VIP =
  "`email-security add vip` makes it one; what `lists.vips.ignore` names in the file is left out here.";

/** Nobody looks at more people at once. */
const MOST_PEOPLE = 20;
const MORE_PEOPLE = `Of targeted people who are no VIPs, the ${MOST_PEOPLE} most targeted are told.`;

const OF_SUGGESTION: Readonly<Record<string, ReviewKind>> = {
  "malicious-allow": "malicious",
  "expiring-allow": "ending",
  shadowed: "shadowed",
};

const OF_FINDING: Readonly<Record<string, ReviewKind>> = {
  "review-overdue": "due",
  contradicted: "contradicted",
  shadowed: "shadowed",
};

function endingOf({ expires }: One, today: string, withinDays: number): Reason | undefined {
  if (expires === undefined || expires === "never") return undefined;
  const days = Math.round((Date.parse(expires) - Date.parse(today)) / DAY_MS);
  if (days > withinDays) return undefined;
  const when = days === 0 ? "today" : days === 1 ? "tomorrow" : `in ${days} days`;
  return { kind: "ending", evidence: `It ends on ${expires}, ${when}. Without a change it ends.` };
}

function itemOf(one: One, settings: Settings): Omit<ReviewItem, "reasons"> {
  const { place, comment, ticket, owner, expires } = one;
  return {
    list: one.kind === "vip" ? "vip" : one.list,
    value: one.kind === "vip" ? one.email : one.value,
    ...(one.kind === "entry" ? { scope: one.verdictScope } : {}),
    place,
    ...(isOwnFile(place.file, settings) ? {} : { isShared: true }),
    ...withoutUndefined({ comment, ticket, owner, expires }),
  };
}

function spot({ file, line, column }: Place): string {
  return `${line}:${column} ${file}`;
}
