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

/** A domain registered at most this many days before its mail arrived was probably made for that mail. */
const NEW_DOMAIN_DAYS = 180;

/** A value to deny, and the evidence for it. */
interface DenyTarget {
  readonly value: string;
  readonly entryType: EntryType;
  /** Why to deny a whole domain. */
  readonly because?: string;
  readonly reports: SeenReport[];
  /** Threats found malicious that stayed in a mailbox. */
  readonly delivered: SeenThreat[];
}

/** Whether malicious mail was delivered and nobody acted on it. Mail that somebody released was already reviewed. */
function wasDelivered({ verdict, action }: SeenThreat): boolean {
  return verdict === "malicious" && action === "none";
}

/** Whether some of the sender's mail was found safe or is allowed on purpose; a person must then decide. */
function isPossiblyLegitimate(context: Context, mailbox: string): boolean {
  if (coveringValues(mailbox).some((covering) => context.isOn("allow", covering))) return true;
  const evidence = evidenceOf(context.base, { kind: "entry", value: mailbox, entryType: "email_address" });
  const verdicts = [...(evidence?.verdicts ?? []), ...(evidence?.reportVerdicts ?? [])];
  return verdicts.some(({ name }) => name === "safe" || name === "allowed");
}

export function confirmedPhishing(context: Context): Suggestion[] {
  const { base, own } = context;
  const targets = new Map<string, DenyTarget>();
  const getTarget = (mailbox: string | undefined): DenyTarget | undefined => {
    if (mailbox === undefined || !parseMailbox(mailbox).ok) return undefined;
    const match = chooseDenyTarget(context, mailbox);
    const target = targets.get(match.value) ?? { ...match, reports: [], delivered: [] };
    targets.set(match.value, target);
    return target;
  };
  for (const report of base.reports ?? []) {
    if (report.verdict === "malicious") getTarget(report.sender.mailbox)?.reports.push(report);
  }
  for (const threat of base.threats ?? []) {
    const { mailbox } = threat.sender;
    if (mailbox === undefined || !wasDelivered(threat) || isPossiblyLegitimate(context, mailbox)) continue;
    getTarget(mailbox)?.delivered.push(threat);
  }
  const isSubdomainOfTarget = (value: string): boolean =>
    domainsUp(domainOf(value)).some((parent) => parent !== value && targets.has(parent));
  return [...targets.values()]
    .filter(
      ({ value, entryType }) =>
        !isSubdomainOfTarget(value) &&
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
    .map((target) => buildDenySuggestion(context, target));
}

/** Chooses the mailbox, or its whole domain if the domain was probably made for such mail. */
function chooseDenyTarget(context: Context, mailbox: string): Omit<DenyTarget, "reports" | "delivered"> {
  const domain = domainOf(mailbox);
  const reason = explainWholeDomain(context, domain);
  return reason === undefined
    ? { value: mailbox, entryType: "email_address" }
    : { value: domain, entryType: "domain", because: reason };
}

/** Explains why to deny a whole domain. Detected mail shows only a domain's worst side, so malicious verdicts alone are not enough. */
function explainWholeDomain(context: Context, domain: string): string | undefined {
  const { base, own } = context;
  if (isFreeMail(domain) || isPublicSuffix(domain)) return undefined;
  if (context.hasAllowAround(domain)) return undefined;
  const evidence = evidenceOf(base, { kind: "entry", value: domain, entryType: "domain" });
  const verdicts = [...(evidence?.verdicts ?? []), ...(evidence?.reportVerdicts ?? [])];
  if (verdicts.some(({ name }) => name === "safe" || name === "allowed")) return undefined;
  const ownDomain = own.lookAlikeOf(domain);
  if (ownDomain !== undefined) return `The domain can be taken for your own ${printable(ownDomain)}.`;
  const day = findNewDomains(base).get(domain);
  if (day === undefined) return undefined;
  return `The domain was registered on ${day}, shortly before its mail, and nothing of it was found safe.`;
}

const newDomainsCache = new WeakMap<EvidenceBase, ReadonlyMap<string, string>>();

/** Returns senders' domains that were new when their mail arrived, with their registration dates. */
function findNewDomains(base: EvidenceBase): ReadonlyMap<string, string> {
  let cached = newDomainsCache.get(base);
  if (cached === undefined) {
    const days = new Map<string, string>();
    for (const { sender, registered, time } of base.threats ?? []) {
      const registeredAt = instantOf(registered);
      const seenAt = instantOf(time);
      if (registeredAt === undefined || seenAt === undefined || seenAt - registeredAt > NEW_DOMAIN_DAYS * DAY_MS)
        continue;
      for (const domain of sender.domains) days.set(domain, new Date(registeredAt).toISOString().slice(0, 10));
    }
    cached = days;
    newDomainsCache.set(base, cached);
  }
  return cached;
}

function buildDenySuggestion(context: Context, target: DenyTarget): Suggestion {
  const { value, entryType, reports, delivered, because } = target;
  const reporterCount = new Set(reports.map(({ reporter }) => reporter ?? "")).size;
  const lastReport = reports.map(({ time }) => time?.slice(0, 10)).find((day) => day !== undefined);
  const lastReportText = lastReport === undefined ? "" : `, last on ${printable(lastReport)}`;
  const evidence = evidenceOf(context.base, { kind: "entry", value, entryType });
  const reportedText = `${counted(reporterCount, "user")} reported mail from it as phishing${lastReportText}, and the analysis found it malicious.`;
  const deliveredText = `${counted(delivered.length, "message")} from it ${were(delivered.length)} found malicious and stayed in a mailbox.`;
  const mailboxCount = new Set(delivered.map(({ recipient }) => recipient ?? "")).size;
  const comment =
    reporterCount > 0
      ? `Confirmed phishing, reported by ${counted(reporterCount, "user")}`
      : `Malicious mail that reached ${mailboxCount === 1 ? "1 mailbox" : `${mailboxCount} mailboxes`}`;
  const file = context.homeOf("deny");
  const expiredAllows = context.endedAllows(value);
  const [expiredAllow] = expiredAllows;
  return {
    kind: "deny",
    value,
    what: `Deny ${printable(value)}`,
    evidence: sentences(
      reporterCount > 0 ? reportedText : deliveredText,
      because,
      detectedTold(context, evidence),
      expiredAllow === undefined
        ? ""
        : `Its allow at ${lineText(expiredAllow.place)} ended on ${expiredAllow.expires}.`,
    ),
    edits: [
      // A file can have only one line per value.
      ...expiredAllows.filter(({ place }) => place.file === file).flatMap(removalOf),
      { file, edit: { do: "add", section: "deny", element: { value, comment } } },
    ],
  };
}
