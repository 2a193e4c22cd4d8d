import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICT_SCOPES } from "../model/assumptions";
import { addDaysToDate, DAY_MS } from "../model/expiry-term";
import { findLikelyTypo } from "../model/nearest-name";
import { OwnDomains } from "../model/own-domains";
import { findEntryRisks, RISKS } from "../model/risk";
import { quote } from "../model/text";
import { getExpiryDate } from "./expiry-date";
import { type Finding, formatLineLocation, sortFindings } from "./finding";
import { findPolicyViolations } from "./policy";
import { inspectSettings, type SettingsReadOptions, type SettingsReadResult } from "./read-settings";
import { findReviewProblems } from "./reviews";
import type { DeclaredElement, DeclaredEntry, DeclaredVip, Settings } from "./settings-model";
import { findSourceProblems } from "./source-checks";

export interface LintResult extends Omit<SettingsReadResult, "includedAt"> {
  /** Whether a mistake prevented further checks: risks, duplicates, policy. */
  readonly isPartial: boolean;
}

/**
 * Reads a settings file with its includes, and finds all errors, policy violations and suspicious declarations. Sends no request to the
 * service. Never throws.
 *
 * @param file the path relative to the working directory.
 */
export function lintSettings(file: string, options: SettingsReadOptions = {}): LintResult {
  const { settings, draft, findings: readFindings, files } = inspectSettings(file, options);
  if (draft === undefined) return { findings: readFindings, settings: undefined, draft, isPartial: true, files };
  const findings = sortFindings([...readFindings, ...checkSettings(draft)]);
  return {
    findings,
    settings: findings.some(({ level }) => level === "error") ? undefined : settings,
    draft,
    isPartial: false,
    files,
  };
}

/**
 * Returns findings on readable settings, in addition to {@link Settings.findings}: policy violations (errors) and suspicious declarations
 * (warnings and notes).
 */
export function checkSettings(settings: Settings): Finding[] {
  return [
    ...findPolicyViolations(settings),
    ...findCoveredEntries(settings),
    ...findExpiring(settings),
    ...findReviewProblems(settings),
    ...findAcceptedRisks(settings),
    ...findUnknownScopes(settings),
    ...findSourceProblems(settings),
  ];
}

/** Entries that expire within this many days get a note. */
const EXPIRING_SOON_DAYS = 30;

/** Finds entries below another entry: redundant ones and exceptions. */
function findCoveredEntries({ entries }: Settings): Finding[] {
  // Most entries of a long list have no declared parent, so index only possible parents.
  const subdomainEntries = entries.filter((entry) => listCoveringDomains(entry).length > 0);
  const parentDomains = new Set(subdomainEntries.flatMap(listCoveringDomains));
  if (parentDomains.size === 0) return [];
  const domains = new Map<string, DeclaredEntry>();
  for (const entry of entries) {
    if (entry.entryType === "domain" && parentDomains.has(entry.value))
      domains.set(getScopedDomain(entry, entry.value), entry);
  }
  return subdomainEntries.map((entry) => getCoveredFinding(entry, domains)).filter((finding) => finding !== undefined);
}

function getCoveredFinding(entry: DeclaredEntry, domains: ReadonlyMap<string, DeclaredEntry>): Finding | undefined {
  for (const domain of listCoveringDomains(entry)) {
    const parentEntry = domains.get(getScopedDomain(entry, domain));
    if (parentEntry === undefined) continue;
    if (parentEntry.list !== entry.list) return buildContradictedFinding(entry, parentEntry);
    // If the wider entry expires first, the narrower one is still needed.
    if (!expiresBefore(parentEntry, entry)) return buildShadowedFinding(entry, parentEntry);
  }
  return undefined;
}

/** Returns a lookup key of a domain in an entry's scope. The default scope needs no new string. */
function getScopedDomain({ verdictScope }: DeclaredEntry, domain: string): string {
  return verdictScope === DEFAULT_VERDICT_SCOPE ? domain : `${verdictScope} ${domain}`;
}

/** Returns the parent domains of an entry, the nearest first. */
function listCoveringDomains({ entryType, value }: DeclaredEntry): string[] {
  if (entryType === "ip") return [];
  const parents: string[] = [];
  const at = value.lastIndexOf("@");
  if (at >= 0) parents.push(value.slice(at + 1));
  // A top-level domain such as `com` can't be declared.
  const last = value.lastIndexOf(".");
  for (let dot = value.indexOf(".", at + 1); dot >= 0 && dot < last; dot = value.indexOf(".", dot + 1)) {
    parents.push(value.slice(dot + 1));
  }
  return parents;
}

function buildShadowedFinding(entry: DeclaredEntry, parentEntry: DeclaredEntry): Finding {
  return buildFinding(
    "shadowed",
    "warning",
    entry,
    `${quote(entry.rawValue)} is covered by ${quote(parentEntry.rawValue)}, which is on the ${parentEntry.list} list at ${formatLineLocation(parentEntry.location)}; remove one of the two`,
  );
}

function buildContradictedFinding(entry: DeclaredEntry, parentEntry: DeclaredEntry): Finding {
  const [entryEffect, parentEffect] = entry.list === "allow" ? ["allowed", "denied"] : ["denied", "allowed"];
  return buildFinding(
    "contradicted",
    "note",
    entry,
    `${quote(entry.rawValue)} is ${entryEffect}, but its parent ${quote(parentEntry.rawValue)} is ${parentEffect} at ${formatLineLocation(parentEntry.location)}; the service's reference doesn't say which of the two takes precedence, so check before you rely on the exception`,
  );
}

function expiresBefore(a: DeclaredElement, b: DeclaredElement): boolean {
  return getExpiryDate(a) < getExpiryDate(b);
}

function findExpiring({ entries, vips, expired, today }: Settings): Finding[] {
  const lastSoonDay = addDaysToDate(today, EXPIRING_SOON_DAYS);
  return [
    ...findExpiredInSources(expired),
    ...expired
      .filter(isHandWritten)
      .map((declaration) =>
        buildFinding(
          "expired",
          "warning",
          declaration,
          `${quote(declaration.rawValue)} expired on ${declaration.expires}, and is no longer declared; remove it, or set a later date if you still need it`,
        ),
      ),
    ...[...entries, ...vips]
      .filter(
        (declaration) =>
          // A sync renews the others.
          isHandWritten(declaration) &&
          declaration.expires !== undefined &&
          declaration.expires !== "never" &&
          declaration.expires <= lastSoonDay,
      )
      .map((declaration) =>
        buildFinding(
          "expires-soon",
          "note",
          declaration,
          `${quote(declaration.rawValue)} expires on ${declaration.expires}, ${formatRelativeDay(today, declaration.expires ?? today)}; set a later date if you need it for longer`,
        ),
      ),
  ];
}

function isHandWritten({ seen }: DeclaredElement): boolean {
  return seen === undefined;
}

/** Reports the first one of each generated file, because all of them expire together if no sync runs. */
function findExpiredInSources(expired: Settings["expired"]): Finding[] {
  const byFile = Map.groupBy(
    expired.filter((declaration) => !isHandWritten(declaration)),
    ({ location }) => location.file,
  );
  return [...byFile.values()].flatMap((declarations) =>
    declarations.slice(0, 1).map((first) => {
      const othersText = declarations.length === 1 ? "" : `, like ${declarations.length - 1} others of this file`;
      const message = `${quote(first.rawValue)} expired on ${first.expires}${othersText}, and is no longer declared; run \`email-security sync\``;
      return buildFinding("expired", "warning", first, message);
    }),
  );
}

/** Finds likely typos of known scopes, and reports other unknown scopes once, because a service may know them. */
function findUnknownScopes({ entries }: Settings): Finding[] {
  const known: readonly string[] = KNOWN_VERDICT_SCOPES;
  const reportedScopes = new Set<string>();
  return entries.flatMap((entry) => {
    const { verdictScope, rawValue } = entry;
    if (known.includes(verdictScope)) return [];
    const suggestion = findLikelyTypo(verdictScope, known);
    if (suggestion === undefined) {
      if (reportedScopes.has(verdictScope)) return [];
      reportedScopes.add(verdictScope);
      const message = `${quote(rawValue)} has the scope ${quote(verdictScope)}, but this version only knows ${known.join(" and ")}. If the service doesn't know it either, it rejects the entry when it is written`;
      return [buildFinding("scope-other", "note", entry, message)];
    }
    const message = `${quote(rawValue)} has the scope ${quote(verdictScope)}; did you mean ${suggestion}? If the service doesn't know the scope, it rejects the entry when it is written`;
    return [buildFinding("scope-unknown", "warning", entry, message)];
  });
}

function findAcceptedRisks({ entries, ownDomains, policy }: Settings): Finding[] {
  const ownDomainSet = new OwnDomains([...ownDomains]);
  return entries.flatMap((entry) => {
    const { list, entryType, acceptRisk, rawValue, expires } = entry;
    if (acceptRisk === undefined) return [];
    const risks = findEntryRisks(entry, ownDomainSet);
    const isWholeDomain =
      policy.rejectWholeDomains === true && list === "allow" && entryType === "domain" && risks.length === 0;
    const mayAdmitMail = list === "allow" || (expires !== undefined && expires !== "never");
    if (risks.length === 0 && !isWholeDomain && mayAdmitMail) {
      const subjectText = list === "allow" ? "it" : "its expiry";
      const message = `${quote(rawValue)} isn't risky on its own; a plan uses \`acceptRisk\` as the reason why ${subjectText} is intended, whatever the evidence from the sender's mail: ${quote(acceptRisk, 500)}`;
      return [buildFinding("accepted-mail", "note", entry, message)];
    }
    if (risks.length === 0 && !isWholeDomain) {
      const message = `${quote(rawValue)} has no risk that this check can detect, so there is nothing to accept; remove \`acceptRisk\`, so that it can't hide a future risk`;
      return [buildFinding("accepted-nothing", "warning", entry, message)];
    }
    const riskText = isWholeDomain
      ? "policy-whole-domain: it allows a whole domain"
      : risks.map(({ code }) => `${code}: it ${RISKS[code].title}`).join("; ");
    const message = `${quote(rawValue)} is risky (${riskText}), and the risk is accepted: ${quote(acceptRisk, 500)}`;
    return [buildFinding("accepted-risk", "note", entry, message)];
  });
}

function buildFinding(
  code: string,
  level: Finding["level"],
  declaration: DeclaredEntry | DeclaredVip,
  message: string,
): Finding {
  return {
    code,
    level,
    message,
    place: declaration.location,
    subject: { kind: declaration.kind, key: declaration.key },
  };
}

function formatRelativeDay(today: string, day: string): string {
  const days = Math.round((Date.parse(day) - Date.parse(today)) / DAY_MS);
  if (days === 0) return "which is today";
  return days === 1 ? "which is tomorrow" : `in ${days} days`;
}
