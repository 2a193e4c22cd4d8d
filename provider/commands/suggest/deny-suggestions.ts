import type { EntryType } from "../../model/assumptions";
import { listCoveringValues } from "../../model/covering-values";
import { getMailDomain, parseMailbox } from "../../model/entry-value";
import { isFreeMail } from "../../model/free-mail";
import { isPublicSuffix, listDomainAndParents } from "../../model/own-domains";
import { findEntryRisks } from "../../model/risk";
import { sanitizeLine } from "../../model/text";
import { collectEvidence, type TenantMailHistory } from "../../plan/evidence";
import { parseInstant, type ReportRecord, type ThreatRecord } from "../../plan/mail-records";
import { formatCount } from "../../render/safe-text";
import { formatLineLocation } from "../../settings-files/finding";
import { describeDetections, getWasOrWere, joinSentences } from "./mail-descriptions";
import { DAY_MS, type SuggestContext } from "./suggest-context";
import type { Suggestion } from "./suggestion";
import { buildRemovalEdits } from "./suggestion-edits";

/** A domain registered at most this many days before its mail arrived was probably made for that mail. */
const NEW_DOMAIN_DAYS = 180;

interface DenyTarget {
  readonly value: string;
  readonly entryType: EntryType;
  readonly domainReason?: string;
  readonly reports: ReportRecord[];
  /** Threats found malicious that stayed in a mailbox. */
  readonly delivered: ThreatRecord[];
}

/**
 * Returns whether malicious mail was delivered and nobody acted on it. Mail that somebody released was already
 * reviewed.
 */
function wasDelivered({ verdict, action }: ThreatRecord): boolean {
  return verdict === "malicious" && action === "none";
}

/** Returns whether some of the sender's mail was found safe or is allowed on purpose; a person must then decide. */
function isPossiblyLegitimate(context: SuggestContext, mailbox: string): boolean {
  if (listCoveringValues(mailbox).some((covering) => context.isListed("allow", covering))) return true;
  const evidence = collectEvidence(context.base, {
    kind: "entry",
    value: mailbox,
    entryType: "email_address",
  });
  const verdicts = [...(evidence?.verdicts ?? []), ...(evidence?.reportVerdicts ?? [])];
  return verdicts.some(({ name }) => name === "safe" || name === "allowed");
}

export function suggestDenies(context: SuggestContext): Suggestion[] {
  const { base, ownDomains } = context;
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
    listDomainAndParents(getMailDomain(value)).some((parent) => parent !== value && targets.has(parent));
  return [...targets.values()]
    .filter(
      ({ value, entryType }) =>
        !isSubdomainOfTarget(value) &&
        ownDomains.findOwnDomain(getMailDomain(value)) === undefined &&
        ownDomains.findOwnSubdomain(getMailDomain(value)) === undefined &&
        !context.isDenied(value) &&
        !context.isListed("allow", value) &&
        !context.isExcluded("entry", value) &&
        findEntryRisks({ list: "deny", value, entryType }, ownDomains).length === 0,
    )
    .sort(
      (a, b) =>
        b.reports.length - a.reports.length || b.delivered.length - a.delivered.length || (a.value < b.value ? -1 : 1),
    )
    .map((target) => buildDenySuggestion(context, target));
}

/** Chooses the mailbox, or its whole domain if the domain was probably made for such mail. */
function chooseDenyTarget(context: SuggestContext, mailbox: string): Omit<DenyTarget, "reports" | "delivered"> {
  const domain = getMailDomain(mailbox);
  const reason = explainWholeDomain(context, domain);
  return reason === undefined
    ? { value: mailbox, entryType: "email_address" }
    : { value: domain, entryType: "domain", domainReason: reason };
}

/** Explains why to deny a whole domain. Detected mail shows only a domain's worst side, so malicious verdicts alone are not enough. */
function explainWholeDomain(context: SuggestContext, domain: string): string | undefined {
  const { base, ownDomains } = context;
  if (isFreeMail(domain) || isPublicSuffix(domain)) return undefined;
  if (context.hasRelatedAllow(domain)) return undefined;
  const evidence = collectEvidence(base, { kind: "entry", value: domain, entryType: "domain" });
  const verdicts = [...(evidence?.verdicts ?? []), ...(evidence?.reportVerdicts ?? [])];
  if (verdicts.some(({ name }) => name === "safe" || name === "allowed")) return undefined;
  const ownDomain = ownDomains.findLookAlike(domain);
  if (ownDomain !== undefined) return `The domain can be mistaken for your own domain ${sanitizeLine(ownDomain)}.`;
  const day = findNewDomains(base).get(domain);
  if (day === undefined) return undefined;
  return `The domain was registered on ${day}, shortly before its first mail, and none of its mail was found safe.`;
}

const newDomainsCache = new WeakMap<TenantMailHistory, ReadonlyMap<string, string>>();

/** Returns senders' domains that were new when their mail arrived, with their registration dates. */
function findNewDomains(base: TenantMailHistory): ReadonlyMap<string, string> {
  let cached = newDomainsCache.get(base);
  if (cached === undefined) {
    const days = new Map<string, string>();
    for (const { sender, senderDomainRegisteredAt, time } of base.threats ?? []) {
      const registeredAt = parseInstant(senderDomainRegisteredAt);
      const seenAt = parseInstant(time);
      if (registeredAt === undefined || seenAt === undefined || seenAt - registeredAt > NEW_DOMAIN_DAYS * DAY_MS)
        continue;
      for (const domain of sender.domains) days.set(domain, new Date(registeredAt).toISOString().slice(0, 10));
    }
    cached = days;
    newDomainsCache.set(base, cached);
  }
  return cached;
}

function buildDenySuggestion(context: SuggestContext, target: DenyTarget): Suggestion {
  const { value, entryType, reports, delivered, domainReason } = target;
  const reporterCount = new Set(reports.map(({ reporter }) => reporter ?? "")).size;
  const lastReport = reports.map(({ time }) => time?.slice(0, 10)).find((day) => day !== undefined);
  const lastReportText = lastReport === undefined ? "" : `, last on ${sanitizeLine(lastReport)}`;
  const evidence = collectEvidence(context.base, { kind: "entry", value, entryType });
  const reportedText = `${formatCount(reporterCount, "user")} reported mail from it as phishing${lastReportText}, and the analysis found it malicious.`;
  const deliveredText = `${formatCount(delivered.length, "message")} from it ${getWasOrWere(delivered.length)} found malicious and stayed in a mailbox.`;
  const mailboxCount = new Set(delivered.map(({ recipient }) => recipient ?? "")).size;
  const comment =
    reporterCount > 0
      ? `Confirmed phishing, reported by ${formatCount(reporterCount, "user")}`
      : `Malicious mail that reached ${mailboxCount === 1 ? "1 mailbox" : `${mailboxCount} mailboxes`}`;
  const file = context.getTargetFile("deny");
  const expiredAllows = context.getExpiredAllows(value);
  const [expiredAllow] = expiredAllows;
  return {
    kind: "deny",
    value,
    action: `Deny ${sanitizeLine(value)}`,
    evidence: joinSentences(
      reporterCount > 0 ? reportedText : deliveredText,
      domainReason,
      describeDetections(context, evidence),
      expiredAllow === undefined
        ? ""
        : `Its allow at ${formatLineLocation(expiredAllow.location)} expired on ${expiredAllow.expires}.`,
    ),
    edits: [
      // A file can have only one line per value.
      ...expiredAllows.filter(({ location }) => location.file === file).flatMap(buildRemovalEdits),
      { file, edit: { action: "add", section: "deny", element: { value, comment } } },
    ],
  };
}
