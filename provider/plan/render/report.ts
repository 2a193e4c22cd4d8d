import { type Finding, isLoosening, type Place } from "../../files/finding";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { unicodeOf } from "../../settings/unicode-value";
import type {
  Alarm,
  BacktestAllow,
  BacktestDeny,
  BacktestExample,
  Change,
  Count,
  Evidence,
  Expired,
  Plan,
  Recipient,
  Sign,
  Standing,
  Unmanaged,
} from "../plan";
import { counted, day, enumerate, given, join, minute, number, say, sentence, type Words } from "./words";

/**
 * What a person is told of a plan, in the order in which one asks: is it dangerous, what changes, what does our mail say,
 * who asked for it, what is left alone, what does it rest on. Every format shows this, and decides only how.
 */
export interface Report {
  readonly mood: Mood;
  /** One word or two for the mood: `Refused`, `Danger`. */
  readonly verdict: string;
  readonly headline: Words;
  /** `acme at mail-security.example`. */
  readonly tenant: Words;
  readonly source: Words;
  readonly tallies: readonly Tally[];
  readonly guards: Plan["guards"];
  /** What this tenant's files make less of than those that they include. */
  readonly loosened: readonly Finding[];
  readonly dangers: readonly Card[];
  /** What would be a danger, or be held against a change, and is accepted with a reason. */
  readonly accepted: readonly Card[];
  readonly warnings: readonly Card[];
  /** Changes that nothing speaks against. */
  readonly others: readonly Card[];
  /** What lint says of what does not change. */
  readonly findings: readonly Finding[];
  readonly unmanaged: readonly Unmanaged[];
  readonly expired: readonly Expired[];
  /** Denies that no threat came under; absent where nothing was replayed. */
  readonly unmatched?: { readonly words: Words; readonly keys: readonly string[] };
  /** What all this rests on, a sentence each. */
  readonly basis: readonly Words[];
  readonly digest: string;
}

export type Mood = "refused" | Alarm | "nothing";

export interface Tally {
  readonly sign: "+" | "~" | "-" | "";
  readonly word: string;
  readonly count: number;
}

/** One change, as it is told. */
export interface Card {
  readonly change: Change;
  readonly sign: "+" | "~" | "-";
  readonly word: Sign;
  /** `allow`, `deny`, `VIP`, `allow → deny`. */
  readonly list: string;
  /** `domain`, `IP address`, `mailbox`; with the scope where it is not the usual one. */
  readonly kind: Words;
  readonly facts: readonly Fact[];
  readonly allows?: BacktestAllow;
  readonly denies?: BacktestDeny;
}

/** Something to know of a change, under a label of at most ten letters. */
export interface Fact {
  readonly label:
    | "mail"
    | "details"
    | "reports"
    | "backtest"
    | "finding"
    | "accepted"
    | "comment"
    | "why"
    | "replaces"
    | "asked for"
    | "declared"
    | "held";
  readonly words: Words;
  /** Whether it is what makes the change alarming. */
  readonly isAlarming?: boolean;
}

/** @param plan as `plan` made it, or as it was read back. */
export function reportOf(plan: Plan): Report {
  const allows = byKey(plan.backtest?.allows ?? []);
  const denies = byKey(plan.backtest?.denies ?? []);
  const cards = plan.changes.map((change) =>
    cardOf(plan, change, allows.get(change.key), denies.get(change.key)),
  );
  const of = (alarm: Alarm) => cards.filter(({ change }) => change.alarm === alarm);
  const [dangers, accepted, warnings, others] = [of("danger"), of("accepted"), of("warning"), of("none")];
  const mood = moodOf(plan);
  return {
    mood,
    verdict: mood === "none" && !plan.evidence.complete ? "No finding" : VERDICTS[mood],
    headline: headlineOf(plan, dangers.length, accepted.length, warnings.length),
    tenant: say`${given(plan.tenant.name)} at ${given(plan.tenant.host)}`,
    source: sourceOf(plan),
    tallies: talliesOf(plan),
    guards: plan.guards,
    loosened: plan.findings.filter(isLoosening),
    dangers,
    accepted,
    warnings,
    others,
    findings: untoldFindings(plan),
    unmanaged: plan.unmanaged,
    expired: plan.expired,
    ...unmatchedOf(plan),
    basis: basisOf(plan),
    digest: plan.digest,
  };
}

const VERDICTS: Readonly<Record<Mood, string>> = {
  refused: "Refused",
  danger: "Danger",
  accepted: "Risk accepted",
  warning: "Needs a look",
  none: "Looks fine",
  nothing: "Nothing to do",
};

/** What is open comes before what was accepted. */
const MOODS = ["danger", "warning", "accepted"] as const;

function moodOf({ guards, changes }: Plan): Mood {
  if (guards.length > 0) return "refused";
  const worst = MOODS.find((one) => changes.some(({ alarm }) => alarm === one));
  return worst ?? (changes.length > 0 ? "none" : "nothing");
}

/** What refuses, in words; a code of another version stays itself. */
function guardName(code: string): Words {
  const name = Object.hasOwn(GUARDS, code) ? GUARDS[code] : undefined;
  return [name ?? given(code)];
}

const GUARDS: Readonly<Record<string, string>> = {
  "removal-guard": "the guard against mass removal",
  exists: "an entry that is there already",
  protect: "what is protected",
  ignore: "what is ignored",
  preview: "the preview",
  "other-tenant": "the key being another tenant's, as it seems",
};

function headlineOf(plan: Plan, dangers: number, accepted: number, warnings: number): Words {
  const { changes, guards, evidence } = plan;
  const risks: Words[] = [];
  if (dangers > 0) risks.push([dangers === 1 ? "1 is dangerous" : `${number(dangers)} are dangerous`]);
  if (accepted > 0)
    risks.push([accepted === 1 ? "1 is an accepted risk" : `${number(accepted)} are accepted risks`]);
  if (warnings > 0) risks.push([warnings === 1 ? "1 needs a look" : `${number(warnings)} need a look`]);
  const total = counted(changes.length, "change");
  const judged = risks.length > 0 ? say`Of ${total}, ${enumerate(risks)}.` : [];
  if (guards.length > 0) {
    const codes = [...new Set(guards.map(({ code }) => code))].slice(0, MOST_CODES).map(guardName);
    return say`This run would be refused, by ${enumerate(codes)}. ${judged.length > 0 ? judged : `It has ${total}.`}`;
  }
  if (changes.length === 0) return say`${given(plan.tenant.name)} holds what is declared.`;
  if (risks.length > 0) return judged;
  if (evidence.complete)
    return say`${total}, and nothing speaks against ${changes.length === 1 ? "it" : "them"}.`;
  return say`${total}, with no finding; but what the tenant's mail says of it is not known in full.`;
}

const MOST_CODES = 3;

function sourceOf({ source, createdAt }: Plan): Words {
  const [first, ...more] = source.files;
  const files =
    first === undefined
      ? ["no file"]
      : more.length === 0
        ? [given(first)]
        : say`${given(first)} and ${more.length} more`;
  const from = source.kind === "preview" ? say`a preview of the program, ${files}` : files;
  const stack =
    source.stack === undefined
      ? ["no stack, so only the tenant was compared"]
      : say`stack ${given(source.stack)}`;
  return say`${from}; ${stack}; the tenant as it was on ${minute(createdAt)}`;
}

function talliesOf({ counts, expired }: Plan): Tally[] {
  const tallies: Tally[] = [
    { sign: "+", word: "add", count: counts.added },
    { sign: "~", word: "change", count: counts.changed },
    { sign: "-", word: "remove", count: counts.removed },
    { sign: "", word: "as declared", count: counts.unchanged },
    { sign: "", word: "left alone", count: counts.unmanaged },
  ];
  return expired.length > 0 ? [...tallies, { sign: "", word: "expired", count: expired.length }] : tallies;
}

function cardOf(plan: Plan, change: Change, allows?: BacktestAllow, denies?: BacktestDeny): Card {
  const isAllow = change.after?.list === "allow";
  const [allowed, denied] = isAllow
    ? [allows, undefined]
    : [undefined, change.after?.list === "deny" ? denies : undefined];
  return {
    change,
    sign: SIGNS[change.sign],
    word: change.sign,
    list: listOf(change),
    kind: kindOf(change),
    facts: factsOf(plan, change, allowed, denied),
    ...(allowed && { allows: allowed }),
    ...(denied && { denies: denied }),
  };
}

const SIGNS = { add: "+", change: "~", remove: "-" } as const;

function listOf({ kind, before, after }: Change): string {
  if (kind === "vip") return "VIP";
  if (before?.list !== undefined && after?.list !== undefined && before.list !== after.list) {
    return `${before.list} → ${after.list}`;
  }
  return after?.list ?? before?.list ?? "entry";
}

function isKnownType(entryType: string): entryType is keyof typeof TYPES {
  return Object.hasOwn(TYPES, entryType);
}

/** What kind of value it is, and the scope where it is not the usual one. */
function kindOf({ entryType, verdictScope }: Pick<Change, "entryType" | "verdictScope">): Words {
  const type =
    entryType === undefined
      ? undefined
      : isKnownType(entryType)
        ? [TYPES[entryType]]
        : say`type ${given(entryType)}`;
  const scope =
    verdictScope === undefined || verdictScope === DEFAULT_VERDICT_SCOPE
      ? undefined
      : say`scope ${given(verdictScope)}`;
  return join([...(type === undefined ? [] : [type]), ...(scope === undefined ? [] : [scope])], ", ");
}

const TYPES = { domain: "domain", ip: "IP address", email_address: "mailbox" } as const;

function factsOf(plan: Plan, change: Change, allows?: BacktestAllow, denies?: BacktestDeny): Fact[] {
  const isAlarming = change.alarm !== "none";
  const facts: Fact[] = [
    { label: "accepted", words: acceptedWords(change), isAlarming },
    { label: "comment", words: commentWords(change) },
    { label: "why", words: change.why === undefined ? [] : [sentence(change.why)] },
    { label: "replaces", words: replacedWords(change) },
    ...mailFacts(plan, change, allows),
    ...(change.evidence?.applies === false ? [] : backtestFacts(plan, allows, denies)),
    ...change.findings.map(
      (finding): Fact => ({
        label: "finding",
        words: findingWords(finding),
        isAlarming: isAlarming && (finding.level !== "note" || change.alarm === "accepted"),
      }),
    ),
    { label: "asked for", words: requestWords(change) },
    { label: "declared", words: declaredWords(change) },
    { label: "held", words: heldWords(change.before) },
  ];
  const told = facts.filter(({ words }) => words.length > 0);
  return [
    ...told.filter((fact) => fact.isAlarming === true),
    ...told.filter((fact) => fact.isAlarming !== true),
  ];
}

function mailFacts(plan: Plan, change: Change, allows: BacktestAllow | undefined): Fact[] {
  const { evidence } = change;
  if (evidence === undefined) return [];
  if (!evidence.applies) {
    return [
      {
        label: "mail",
        words: ["Nothing can be said of it: the service does not tell a threat's IP address."],
      },
    ];
  }
  const isAlarming = change.alarm !== "none" && (evidence.threats > 0 || evidence.reports > 0);
  return [
    { label: "mail", words: threatWords(plan, change, evidence, allows), isAlarming },
    { label: "details", words: detailWords(change, evidence), isAlarming },
    { label: "reports", words: reportWords(evidence), isAlarming },
  ];
}

/** `37 threats in 30 days, 35 malicious, last 2026-11-19; to 4 people, 2 of them VIPs; it would have let 31 through.` */
function threatWords(
  plan: Plan,
  { kind }: Change,
  evidence: Evidence,
  allows: BacktestAllow | undefined,
): Words {
  const window = `in ${counted(plan.evidence.days, "day")}`;
  const direction = kind === "vip" ? "to it" : "from it";
  if (evidence.threats === 0) return say`No threat ${direction} ${window}.`;
  const verdicts = countsWords(evidence.verdicts, evidence.threats);
  const last = evidence.last === undefined ? [] : say`, last ${day(evidence.last)}`;
  const isTo = kind === "entry" && evidence.recipientCount > 0;
  const to = isTo ? `; to ${peopleWords(evidence.recipientCount, evidence.vipCount)}` : "";
  const through =
    allows === undefined || allows.letThrough === 0
      ? []
      : say`; it would have let ${allows.letThrough} through`;
  return say`${counted(evidence.threats, "threat")} ${kind === "vip" ? "to it " : ""}${window}${
    verdicts.length > 0 ? say`, ${verdicts}` : []
  }${last}${to}${through}.`;
}

/** What was done with the threats, and who sent them. */
function detailWords({ kind }: Change, evidence: Evidence): Words {
  const actions = countsWords(evidence.actions, evidence.threats);
  const senders = sendersWords(evidence, kind);
  const parts = [actions, senders].filter(({ length }) => length > 0);
  return parts.length === 0 ? [] : say`${join(parts, "; ")}.`;
}

function sendersWords({ senders, senderCount }: Evidence, kind: Change["kind"]): Words {
  if (senderCount < 2 || kind === "vip") return [];
  if (senders.length < senderCount) return say`from ${senderCount} senders`;
  return say`from ${join(
    senders.map(({ name, count }) => say`${valueWords(name)} (${count})`),
    ", ",
  )}`;
}

function reportWords({ reports, reportVerdicts, lastReport }: Evidence): Words {
  if (reports === 0) return [];
  const verdicts = countsWords(reportVerdicts, reports);
  const last = lastReport === undefined ? [] : say`, last ${day(lastReport)}`;
  return say`Users reported it ${reports === 1 ? "once" : counted(reports, "time")}${last}${
    verdicts.length > 0 ? say`; the analysis said: ${verdicts}` : []
  }.`;
}

function peopleWords(people: number, vips: number): string {
  const who = counted(people, "person", "people");
  if (vips === 0) return who;
  if (vips === people) return people === 1 ? "1 person, a VIP" : `${who}, all VIPs`;
  return `${who}, ${number(vips)} of them ${vips === 1 ? "a VIP" : "VIPs"}`;
}

/** `35 malicious, 2 spam`; `all malicious` where there is nothing else. */
function countsWords(counts: readonly Count[], total: number): Words {
  const shown = counts.slice(0, MOST_COUNTS);
  const more = counts.length - shown.length;
  const all = shown.map(({ name, count }) =>
    count === total && total > 1 && counts.length === 1
      ? say`all ${nameWords(name)}`
      : say`${count} ${nameWords(name)}`,
  );
  return join(more > 0 ? [...all, [`${more} more kinds`]] : all, ", ");
}

const MOST_COUNTS = 6;

/**
 * A name of the service as words: `moved_to_trash` as "moved to trash". What is no such name is shown as it came; nor is
 * one that a link would begin with, together with the full stop after it.
 */
export function nameWords(name: string): Words {
  if (name === "none") return ["not acted on"];
  return /^(?!.*www$)[a-z]{1,20}(?:_[a-z]{1,20}){0,4}$/.test(name)
    ? [name.replaceAll("_", " ")]
    : [given(name)];
}

function backtestFacts({ evidence }: Plan, allows?: BacktestAllow, denies?: BacktestDeny): Fact[] {
  const window = `in ${counted(evidence.days, "day")}`;
  if (allows !== undefined) {
    const { letThrough, verdicts } = allows;
    if (letThrough === 0)
      return [{ label: "backtest", words: [`By estimate, it would have let nothing through ${window}.`] }];
    const kinds = countsWords(verdicts, letThrough);
    return [
      {
        label: "backtest",
        words: say`By estimate, ${counted(letThrough, "threat")} that ${letThrough === 1 ? "was" : "were"} stopped would have come through${
          kinds.length > 0 ? say` (${kinds})` : []
        }${recipientWords(allows)}.`,
        isAlarming: true,
      },
    ];
  }
  if (denies === undefined) return [];
  const { matched, stopped } = denies;
  if (matched === 0)
    return [{ label: "backtest", words: [`By estimate, nothing would have come under it ${window}.`] }];
  const words =
    stopped === 0
      ? say`By estimate, ${counted(matched, "threat")} came under it ${window}, all stopped without it.`
      : say`By estimate, of ${counted(matched, "threat")} it would have stopped the ${stopped} that reached a mailbox${recipientWords(denies)}.`;
  return [{ label: "backtest", words }];
}

function recipientWords(to: {
  readonly recipients: readonly Recipient[];
  readonly recipientCount: number;
  readonly vipCount: number;
}): Words {
  if (to.recipientCount === 0) return [];
  const shown = to.recipients
    .slice(0, MOST_RECIPIENTS)
    .map(({ email, isVip, count }) =>
      isVip ? say`${given(email)} (VIP, ${count})` : say`${given(email)} (${count})`,
    );
  const more = to.recipientCount - shown.length;
  const names = more > 0 ? [...shown, [`${number(more)} more`]] : shown;
  return say`, to ${peopleWords(to.recipientCount, to.vipCount)}: ${join(names, ", ")}`;
}

const MOST_RECIPIENTS = 4;

/** A threat that would have come through. */
export function exampleWords({ time, sender, recipient, subject, verdict }: BacktestExample): Words {
  const parts: Words[] = [];
  if (time !== undefined) parts.push(day(time));
  if (sender !== undefined) parts.push(say`from ${valueWords(sender)}`);
  if (recipient !== undefined) parts.push(say`to ${given(recipient)}`);
  if (subject !== undefined) parts.push(say`subject ${given(subject)}`);
  if (verdict !== undefined) parts.push(nameWords(verdict));
  return join(parts, ", ");
}

/** A domain or mailbox; one in punycode also in its own script. */
export function valueWords(value: string): Words {
  const unicode = unicodeOf(value);
  return unicode === undefined ? [given(value)] : say`${given(value)} (${given(unicode)})`;
}

/** What the tenant holds and nobody declares: `allow clicked.example (domain, made by … on 2026-11-02): by hand`. */
export function unmanagedWords(one: Unmanaged): Words {
  const about = join(
    [kindOf(one), heldWords(one.before)].filter(({ length }) => length > 0),
    ", ",
  );
  const comment = one.before.comment === undefined ? [] : say`: ${given(one.before.comment)}`;
  const list = one.kind === "vip" ? "VIP" : (one.before.list ?? "entry");
  return say`${list} ${valueWords(one.value)}${about.length > 0 ? say` (${about})` : []}${comment}`;
}

/** `allow old.example: until 2026-10-31, the tenant still holds it, settings/acme.yaml:18`. */
export function expiredWords({ kind, list, value, expires, place, isThere, stays }: Expired): Words {
  const at = place === undefined ? [] : say`, ${lineOf(place)}`;
  const there = !isThere
    ? "the tenant does not hold it"
    : stays === true
      ? "the tenant still holds it, and the next run leaves it"
      : "the tenant still holds it";
  return say`${kind === "vip" ? "VIP" : (list ?? "entry")} ${valueWords(value)}: until ${day(expires)}, ${there}${at}`;
}

/** `settings/acme.yaml:12`; nothing where there is no place. */
export function lineOf(place: Place | undefined): Words {
  return place === undefined ? [] : [given(`${place.file}:${place.line}`)];
}

/** The title of what is loosened. */
export const LOOSENED = "Looser here than what is included";

/** A loosening with its line. */
export function loosenedWords({ place, message }: Finding): Words {
  return say`${lineOf(place)}${place === undefined ? "" : ": "}${sentence(message)}`;
}

/** A finding in a sentence: `error allow-free-mail: …`. */
export function findingWords({ level, code, message }: Finding): Words {
  return say`${level} ${given(code)}: ${sentence(message)}`;
}

function acceptedWords({ accepted, after }: Change): Words {
  const because = accepted ?? after?.acceptRisk;
  return because === undefined ? [] : say`The risk, because: ${given(because)}`;
}

function replacedWords({ mayReplace = [], after }: Change): Words {
  if (mayReplace.length === 0) return [];
  const all = mayReplace.map(({ key, before }) => {
    const made = heldWords(before);
    const comment = before.comment === undefined ? [] : say`: ${given(before.comment)}`;
    return say`${after?.list ?? "entry"} ${given(key)}${made.length > 0 ? say` (${made})` : []}${comment}`;
  });
  return say`Where the service holds one entry of a value only, it takes the place of ${enumerate(all)}.`;
}

function commentWords({ before, after }: Change): Words {
  const [old, now] = [before?.comment, after?.comment];
  if (before === undefined || after === undefined) {
    const only = old ?? now;
    return only === undefined ? [] : [given(only)];
  }
  if (old === now) return now === undefined ? [] : say`${given(now)} (as it was)`;
  const shown = (comment: string | undefined): Words =>
    comment === undefined ? ["(none)"] : [given(comment)];
  return say`${shown(old)} → ${shown(now)}`;
}

function requestWords({ ticket, owner, approvedBy, expires }: Change): Words {
  const parts: Words[] = [];
  if (ticket !== undefined) parts.push(say`ticket ${given(ticket)}`);
  if (owner !== undefined) parts.push(say`owner ${given(owner)}`);
  if (approvedBy !== undefined) parts.push(say`approved by ${given(approvedBy)}`);
  if (expires !== undefined) parts.push(expires === "never" ? ["never expires"] : say`until ${day(expires)}`);
  return join(parts, ", ");
}

function declaredWords({ place, overrides, resource }: Change): Words {
  const parts: Words[] = [];
  if (place !== undefined) parts.push(lineOf(place));
  if (resource !== undefined) parts.push(say`resource ${given(resource)}`);
  if (overrides !== undefined && overrides.length > 0) {
    parts.push(say`in place of ${placesWords(overrides)}`);
  }
  return join(parts, ", ");
}

function placesWords(places: readonly Place[]): Words {
  const shown = places.slice(0, MOST_PLACES).map(lineOf);
  return enumerate(
    places.length > MOST_PLACES ? [...shown, [`${number(places.length - MOST_PLACES)} more`]] : shown,
  );
}

const MOST_PLACES = 3;

/** Who made what the tenant holds, and when. */
function heldWords(before: Standing | undefined): Words {
  const by = before?.by === undefined ? [] : say` by ${given(before.by)}`;
  const at = before?.at === undefined ? [] : say` on ${day(before.at)}`;
  return by.length + at.length > 0 ? say`made${by}${at}` : [];
}

function unmatchedOf({ backtest, evidence }: Plan): Pick<Report, "unmatched"> {
  // Where there was no threat to match, nothing is said of any deny.
  if (backtest === undefined || backtest.threats === 0 || backtest.unmatchedDenies.length === 0) return {};
  const keys = backtest.unmatchedDenies;
  const words = say`${keys.length} of ${counted(backtest.denyCount, "deny", "denies")} matched no threat in ${counted(
    evidence.days,
    "day",
  )}. That alone is no reason to remove one.`;
  return { unmatched: { words, keys } };
}

function basisOf({ evidence, backtest }: Plan): Words[] {
  const { days, threats, reports, from, until, complete, missing } = evidence;
  const nothing = threats === 0 && reports === 0 && !complete;
  const looked = say`${counted(threats, "threat")} and ${counted(reports, "report")} of users, of the ${counted(
    days,
    "day",
  )} until ${minute(until)}.`;
  const since =
    complete || from === undefined
      ? []
      : [say`It is not all that the window holds: it is complete from ${minute(from)} on.`];
  const gaps = missing.slice(0, MOST_REASONS).map((reason) => say`Missing: ${sentence(reason)}`);
  const replayed =
    backtest === undefined
      ? []
      : [
          say`The backtest replays ${counted(
            backtest.threats,
            "threat",
          )} against the lists as they would be. It is an estimate: it knows of no mail but threats.`,
        ];
  if (nothing) {
    return gaps.length > 0
      ? [["There is no evidence from the tenant's mail."], ...gaps]
      : [["The tenant's mail was not looked at."]];
  }
  return [looked, ...since, ...gaps, ...replayed];
}

const MOST_REASONS = 10;

/** What changes, by kind, with counts: `4,000 add deny`, the most first. For what is not shown one by one. */
export function kindsOf(cards: readonly Card[]): { readonly name: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const { word, list } of cards) counts.set(`${word} ${list}`, (counts.get(`${word} ${list}`) ?? 0) + 1);
  return [...counts].map(([name, count]) => ({ name, count })).sort((one, other) => other.count - one.count);
}

function byKey<T extends { readonly key: string }>(all: readonly T[]): ReadonlyMap<string, T> {
  return new Map(all.map((one) => [one.key, one]));
}

/** What lint says, without what is told of changes. */
function untoldFindings({ changes, findings }: Plan): Finding[] {
  const told = new Set<string>();
  const changed = new Set(changes.map(({ kind, key }) => `${kind} ${key}`));
  for (const change of changes) for (const finding of change.findings) told.add(identity(finding));
  // A change tells its own acceptRisk.
  const isAccepted = ({ code, subject }: Finding): boolean =>
    code.startsWith("accepted-") && changed.has(`${subject?.kind} ${subject?.key}`);
  return findings.filter(
    (finding) => !told.has(identity(finding)) && !isAccepted(finding) && !isLoosening(finding),
  );
}

function identity({ code, message, place, subject }: Finding): string {
  return JSON.stringify([
    code,
    message,
    place?.file,
    place?.line,
    place?.column,
    subject?.kind,
    subject?.key,
  ]);
}
