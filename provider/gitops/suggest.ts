import type { FileEdit } from "../files/change-files";
import { lineText } from "../files/finding";
import type { DeclaredEntry, Settings } from "../files/settings";
import { type EvidenceBase, evidenceOf } from "../plan/evidence";
import { mailEvidence } from "../plan/mail-evidence";
import type { Observed } from "../plan/observed";
import { refuseStrangers } from "../plan/same-tenant";
import { domainsUp, instantOf, type SeenReport, type SeenThreat } from "../plan/seen-mail";
import { DEFAULT_VERDICT_SCOPE, type EntryType } from "../settings/assumptions";
import { coveringValues } from "../settings/coverage";
import { parseMailbox } from "../settings/entry-value";
import { isFreeMail } from "../settings/free-mail";
import { isPublicSuffix } from "../settings/own-domains";
import { risksOf } from "../settings/risk";
import { excerpt, printable } from "../settings/text";
import { Context, DAY_MS, domainOf } from "./suggest-context";
import { counted, detectedTold, mailTold, sentences, verdictsOf, were } from "./suggest-words";
import type { Suggestion, SuggestOptions } from "./suggestion";

/** A domain that was registered so few days before its mail was hardly made for anything else. */
const NEW_DOMAIN_DAYS = 180;

/**
 * What a tenant's mail suggests for its settings files: VIPs among the most targeted people, denies of confirmed phishing and of
 * what reached a mailbox though it was found malicious, allows of such senders, allows that end soon or that nothing detected came under, entries that another one makes needless. Pure.
 *
 * What is known is mail in which the service detected something, and what users reported; each suggestion says so where
 * it matters. Nothing is suggested that is risky, or that the files took out on purpose.
 *
 * @throws {OtherTenantError} when the tenant's people have mailboxes of none of the files' own domains.
 */
export function suggest(
  settings: Settings,
  observed: Observed,
  base: EvidenceBase,
  options: SuggestOptions = {},
): Suggestion[] {
  refuseStrangers(observed, settings.tenantDomains, mailEvidence(base).mailboxes);
  const context = new Context(settings, observed, base);
  const shadowed = shadowedEntries(context);
  const removed = new Set(shadowed.map(({ entry }) => entry));
  const allows = settings.entries.filter((entry) => entry.list === "allow" && !removed.has(entry));
  const [malicious, others] = [true, false].map((is) =>
    allows.filter((entry) => isFoundMalicious(context, entry) === is),
  ) as [DeclaredEntry[], DeclaredEntry[]];
  return [
    ...targetedPeople(context, options),
    ...confirmedPhishing(context),
    ...maliciousAllows(context, malicious),
    ...expiringAllows(context, others, options.expiringDays ?? 30),
    ...unusedAllows(context, others, options.expiringDays ?? 30),
    ...shadowed.map(({ suggestion }) => suggestion),
  ];
}

/** Verdicts of mail that is unwanted at most: it makes nobody a target. */
const NO_ATTACK: ReadonlySet<string> = new Set(["safe", "allowed", "simulation", "spam", "graymail"]);

function targetedPeople(context: Context, { minThreats = 5, maxVips = 10 }: SuggestOptions): Suggestion[] {
  const { settings, observed, base, own } = context;
  const known = new Set([...settings.vips.map(({ email }) => email), ...observed.vips.keys()]);
  const attacks = (base.threats ?? []).filter(({ verdict }) => !NO_ATTACK.has(verdict));
  const byPerson = Map.groupBy(attacks, ({ recipient }) => recipient);
  const people = [...byPerson].flatMap(([email, threats]) => {
    const isCandidate =
      email !== undefined &&
      threats.length >= minThreats &&
      !known.has(email) &&
      !context.isTakenOut("vip", email) &&
      parseMailbox(email).ok &&
      (settings.ownDomains.length === 0 || own.holding(domainOf(email)) !== undefined);
    return isCandidate ? [{ email, threats }] : [];
  });
  return people
    .sort((one, other) => other.threats.length - one.threats.length || (one.email < other.email ? -1 : 1))
    .slice(0, maxVips)
    .map(({ email, threats }): Suggestion => {
      const { days } = base.summary;
      const comment = `Among the most targeted: ${threats.length} threats in ${days} ${days === 1 ? "day" : "days"}`;
      return {
        kind: "vip",
        value: email,
        what: `Make ${printable(email)} a VIP`,
        evidence: `${counted(threats.length, "threat")} ${were(threats.length)} sent to it ${context.window}${verdictsOf(threats)}; spam and graymail are not counted.`,
        edits: [
          {
            file: context.homeOf("vips"),
            edit: { do: "add", section: "vips", element: { email, comment } },
          },
        ],
      };
    });
}

/** What to deny, and the confirmed reports that say so. */
interface Target {
  readonly value: string;
  readonly entryType: EntryType;
  /** Why a whole domain. */
  readonly because?: string;
  readonly reports: SeenReport[];
  /** What was found malicious, and stayed in a mailbox. */
  readonly delivered: SeenThreat[];
}

/** Found malicious, and nothing was done; what somebody has put back was looked at. */
function wasLeft({ verdict, action }: SeenThreat): boolean {
  return verdict === "malicious" && action === "none";
}

/** Whether something of it was found safe, or is let in on purpose: then a person has to look. */
function isInDoubt(context: Context, mailbox: string): boolean {
  if (coveringValues(mailbox).some((covering) => context.isOn("allow", covering))) return true;
  const seen = evidenceOf(context.base, { kind: "entry", value: mailbox, entryType: "email_address" });
  const verdicts = [...(seen?.verdicts ?? []), ...(seen?.reportVerdicts ?? [])];
  return verdicts.some(({ name }) => name === "safe" || name === "allowed");
}

function confirmedPhishing(context: Context): Suggestion[] {
  const { base, own } = context;
  const targets = new Map<string, Target>();
  const targetFor = (mailbox: string | undefined): Target | undefined => {
    if (mailbox === undefined || !parseMailbox(mailbox).ok) return undefined;
    const found = targetOf(context, mailbox);
    const target = targets.get(found.value) ?? { ...found, reports: [], delivered: [] };
    targets.set(found.value, target);
    return target;
  };
  for (const report of base.reports ?? []) {
    if (report.verdict === "malicious") targetFor(report.sender.mailbox)?.reports.push(report);
  }
  for (const threat of base.threats ?? []) {
    const { mailbox } = threat.sender;
    if (mailbox === undefined || !wasLeft(threat) || isInDoubt(context, mailbox)) continue;
    targetFor(mailbox)?.delivered.push(threat);
  }
  const isBelowAnother = (value: string): boolean =>
    domainsUp(domainOf(value)).some((above) => above !== value && targets.has(above));
  return [...targets.values()]
    .filter(
      ({ value, entryType }) =>
        !isBelowAnother(value) &&
        own.holding(domainOf(value)) === undefined &&
        own.below(domainOf(value)) === undefined &&
        !context.isDenied(value) &&
        !context.isOn("allow", value) &&
        !context.isTakenOut("entry", value) &&
        risksOf({ list: "deny", value, entryType }, own).length === 0,
    )
    .sort(
      (one, other) =>
        other.reports.length - one.reports.length ||
        other.delivered.length - one.delivered.length ||
        (one.value < other.value ? -1 : 1),
    )
    .map((target) => denySuggestion(context, target));
}

/** The mailbox, or its whole domain where that was hardly made for anything else. */
function targetOf(context: Context, mailbox: string): Omit<Target, "reports" | "delivered"> {
  const domain = domainOf(mailbox);
  const because = whyWholeDomain(context, domain);
  return because === undefined
    ? { value: mailbox, entryType: "email_address" }
    : { value: domain, entryType: "domain", because };
}

/** Detected mail shows a domain's worst side only, so that all of it being malicious is not enough. */
function whyWholeDomain(context: Context, domain: string): string | undefined {
  const { base, own } = context;
  if (isFreeMail(domain) || isPublicSuffix(domain)) return undefined;
  if (context.hasAllowAround(domain)) return undefined;
  const evidence = evidenceOf(base, { kind: "entry", value: domain, entryType: "domain" });
  const verdicts = [...(evidence?.verdicts ?? []), ...(evidence?.reportVerdicts ?? [])];
  if (verdicts.some(({ name }) => name === "safe" || name === "allowed")) return undefined;
  const ownDomain = own.lookAlikeOf(domain);
  if (ownDomain !== undefined) return `The domain can be taken for your own ${printable(ownDomain)}.`;
  const day = newDomains(base).get(domain);
  if (day === undefined) return undefined;
  return `The domain was registered on ${day}, shortly before its mail, and nothing of it was found safe.`;
}

const newDomainsOf = new WeakMap<EvidenceBase, ReadonlyMap<string, string>>();

/** Senders' domains that were new when their mail came, with the day of their registration. */
function newDomains(base: EvidenceBase): ReadonlyMap<string, string> {
  let found = newDomainsOf.get(base);
  if (found === undefined) {
    const days = new Map<string, string>();
    for (const { sender, registered, time } of base.threats ?? []) {
      const from = instantOf(registered);
      const until = instantOf(time);
      if (from === undefined || until === undefined || until - from > NEW_DOMAIN_DAYS * DAY_MS) continue;
      for (const domain of sender.domains) days.set(domain, new Date(from).toISOString().slice(0, 10));
    }
    found = days;
    newDomainsOf.set(base, found);
  }
  return found;
}

function denySuggestion(context: Context, target: Target): Suggestion {
  const { value, entryType, reports, delivered, because } = target;
  const users = new Set(reports.map(({ reporter }) => reporter ?? "")).size;
  const last = reports.map(({ time }) => time?.slice(0, 10)).find((day) => day !== undefined);
  const on = last === undefined ? "" : `, last on ${printable(last)}`;
  const evidence = evidenceOf(context.base, { kind: "entry", value, entryType });
  const reported = `${counted(users, "user")} reported mail from it as phishing${on}, and the analysis found it malicious.`;
  const left = `${counted(delivered.length, "message")} from it ${were(delivered.length)} found malicious and stayed in a mailbox.`;
  const people = new Set(delivered.map(({ recipient }) => recipient ?? "")).size;
  const comment =
    users > 0
      ? `Confirmed phishing, reported by ${counted(users, "user")}`
      : `Malicious mail that reached ${people === 1 ? "1 mailbox" : `${people} mailboxes`}`;
  const file = context.homeOf("deny");
  const ended = context.endedAllows(value);
  const [over] = ended;
  return {
    kind: "deny",
    value,
    what: `Deny ${printable(value)}`,
    evidence: sentences(
      users > 0 ? reported : left,
      because,
      detectedTold(context, evidence),
      over === undefined ? "" : `Its allow at ${lineText(over.place)} ended on ${over.expires}.`,
    ),
    edits: [
      // A file has one line of a value.
      ...ended.filter(({ place }) => place.file === file).flatMap(removalOf),
      { file, edit: { do: "add", section: "deny", element: { value, comment } } },
    ],
  };
}

function isFoundMalicious(context: Context, entry: DeclaredEntry): boolean {
  const { verdicts = [], reportVerdicts = [] } = context.evidenceOf(entry) ?? {};
  return [...verdicts, ...reportVerdicts].some(({ name }) => name === "malicious");
}

/** Allows whose senders were found malicious, whenever they end; what somebody has accepted is theirs to decide anew. */
function maliciousAllows(context: Context, allows: readonly DeclaredEntry[]): Suggestion[] {
  return allows.map((entry) => {
    const { value, place, verdictScope, acceptRisk, expires } = entry;
    const isForAll = verdictScope === DEFAULT_VERDICT_SCOPE;
    const isUsed = context.evidenceOf(entry)?.verdicts.some(({ name }) => name === "allowed") ?? false;
    const mayGo = isForAll && !isUsed && acceptRisk === undefined && !context.isProtected(entry);
    const name = printable(value);
    return {
      kind: "malicious-allow",
      value,
      what: mayGo ? `Remove the allow of ${name} now` : `Decide whether the allow of ${name} stays`,
      evidence: sentences(
        isDate(expires) ? `It ends on ${expires}.` : "",
        mailTold(context, context.evidenceOf(entry)),
        acceptRisk === undefined ? "" : `Its risk is accepted, because: ${excerpt(acceptRisk, 300)}.`,
        isForAll ? "" : `It lets in ${printable(verdictScope)} alone.`,
        isUsed ? "It is in use: a narrower one may do." : "",
        context.isProtected(entry) ? "It is protected." : "",
        context.includedNote(place),
      ),
      place,
      edits: mayGo ? removalOf(entry) : [],
    };
  });
}

function expiringAllows(
  context: Context,
  allows: readonly DeclaredEntry[],
  expiringDays: number,
): Suggestion[] {
  return allows
    .filter(({ expires }) => isDate(expires) && expires <= context.dayIn(expiringDays))
    .sort((one, other) => ((one.expires ?? "") < (other.expires ?? "") ? -1 : 1))
    .map((entry) => {
      const evidence = context.evidenceOf(entry);
      const isUsed = evidence?.verdicts.some(({ name }) => name === "allowed") ?? false;
      const until = context.goesOnUntil;
      const name = printable(entry.value);
      const about = { kind: "expiring-allow", value: entry.value, place: entry.place } as const;
      const told = sentences(
        `It ends on ${entry.expires}.`,
        mailTold(context, evidence),
        context.includedNote(entry.place),
      );
      if (!isUsed || until <= (entry.expires ?? "")) {
        return {
          ...about,
          what: `Decide whether the allow of ${name} goes on`,
          evidence: sentences(told, "Without a change it ends."),
          edits: [],
        };
      }
      const what = `Let the allow of ${name} go on until ${until}`;
      return { ...about, what, evidence: told, edits: [expiryOf(entry, until)] };
    });
}

function unusedAllows(
  context: Context,
  allows: readonly DeclaredEntry[],
  expiringDays: number,
): Suggestion[] {
  const { days, complete, until } = context.base.summary;
  // Of a part of the window it can't be said.
  if (!complete) return [];
  const windowStart = (instantOf(until) ?? 0) - days * DAY_MS;
  const end = context.goesOnUntil;
  return allows
    .filter((entry) => {
      const { entryType, expires, list, key } = entry;
      if (entryType === "ip" || context.isProtected(entry)) return false;
      if (isDate(expires) && (expires <= end || expires <= context.dayIn(expiringDays))) return false;
      const row = context.observed.entries.get(key)?.find((one) => one.list === list);
      const since = instantOf(row?.created_at);
      if (since === undefined || since > windowStart) return false;
      const evidence = context.evidenceOf(entry);
      return evidence?.threats === 0 && evidence.reports === 0;
    })
    .map((entry) => ({
      kind: "unused-allow",
      value: entry.value,
      what: `Let the allow of ${printable(entry.value)} end on ${end}, unless somebody needs it`,
      evidence: sentences(
        `No mail that the service detected came from it ${context.window}, and nobody reported any; whether other mail did is not told.`,
        context.includedNote(entry.place),
      ),
      place: entry.place,
      edits: [expiryOf(entry, end)],
    }));
}

interface Shadowed {
  readonly entry: DeclaredEntry;
  readonly suggestion: Suggestion;
}

function shadowedEntries(context: Context): Shadowed[] {
  const { entries, files } = context.settings;
  const domains = Map.groupBy(
    entries.filter(({ entryType }) => entryType === "domain"),
    ({ value }) => value,
  );
  return entries.flatMap((entry): Shadowed[] => {
    const by = shadowOf(context, entry, domains);
    // Whoever includes the one file need not have the other.
    const isTogether = by?.place.file === entry.place.file || entry.place.file === files[0];
    if (by === undefined || !isTogether || context.isProtected(entry)) return [];
    const name = printable(entry.value);
    const what = entry.entryType === "domain" ? "all mail from below it" : "all mail from the domain";
    const suggestion: Suggestion = {
      kind: "shadowed",
      value: entry.value,
      what: `Remove the ${entry.list} of ${name}`,
      evidence: sentences(
        `The ${by.list} of ${printable(by.value)} (${lineText(by.place)}) stands for ${what}, in the same scope, so that this one changes nothing.`,
        context.includedNote(entry.place),
      ),
      place: entry.place,
      edits: removalOf(entry),
    };
    return [{ entry, suggestion }];
  });
}

/** The nearest domain's entry that says the same, with none of the other list in between. */
function shadowOf(
  context: Context,
  entry: DeclaredEntry,
  domains: ReadonlyMap<string, readonly DeclaredEntry[]>,
): DeclaredEntry | undefined {
  if (entry.entryType === "ip") return undefined;
  const opposite = entry.list === "allow" ? "deny" : "allow";
  for (const name of coveringValues(entry.value)) {
    if (context.isOn(opposite, name)) return undefined;
    const by = domains
      .get(name)
      ?.find(({ list, verdictScope }) => list === entry.list && verdictScope === entry.verdictScope);
    if (by !== undefined) return lastsAsLong(by, entry) ? by : undefined;
  }
  return undefined;
}

function lastsAsLong(one: DeclaredEntry, other: DeclaredEntry): boolean {
  if (!isDate(one.expires)) return true;
  return isDate(other.expires) && other.expires <= one.expires;
}

/** Takes an entry out of all files that declare it: else one that is included would come up again. */
function removalOf({ list, value, verdictScope: scope, place, overrides }: DeclaredEntry): FileEdit[] {
  const files = new Set([place, ...overrides].map(({ file }) => file));
  return [...files].map((file) => ({ file, edit: { do: "remove", section: list, value, scope } }));
}

function expiryOf({ list, value, verdictScope: scope, place }: DeclaredEntry, to: string): FileEdit {
  return { file: place.file, edit: { do: "set", section: list, value, scope, key: "expires", to } };
}

function isDate(expires: string | undefined): expires is string {
  return expires !== undefined && expires !== "never";
}
