import { lineText } from "../../files/finding";
import { type EvidenceBase, evidenceOf } from "../../plan/evidence";
import { domainsUp, instantOf, type SeenReport, type SeenThreat } from "../../plan/seen-mail";
import { counted } from "../../render/words";
import type { EntryType } from "../../settings/assumptions";
import { coveringValues } from "../../settings/coverage";
import { parseMailbox } from "../../settings/entry-value";
import { isFreeMail } from "../../settings/free-mail";
import { isPublicSuffix } from "../../settings/own-domains";
import { risksOf } from "../../settings/risk";
import { printable } from "../../settings/text";
import { type Context, DAY_MS, domainOf } from "./suggest-context";
import { detectedTold, sentences, were } from "./suggest-words";
import type { Suggestion } from "./suggestion";
import { removalOf } from "./suggestion-edits";

/** A domain that was registered so few days before its mail was hardly made for anything else. */
const NEW_DOMAIN_DAYS = 180;

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

export function confirmedPhishing(context: Context): Suggestion[] {
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
