import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICT_SCOPES } from "../settings/assumptions";
import { slipOf } from "../settings/nearest-name";
import { OwnDomains } from "../settings/own-domains";
import { RISKS, risksOf } from "../settings/risk";
import { quote } from "../settings/text";
import { type Finding, inOrder, lineText } from "./finding";
import { policyFindings } from "./policy";
import { inspectSettings, type ReadOptions } from "./read-settings";
import { reviewFindings } from "./reviews";
import type { Declared, DeclaredEntry, DeclaredVip, Settings } from "./settings";

/** The findings of lint, and the settings if they are valid. */
export interface LintResult {
  /** Errors, warnings and notes, in the order of files and lines. */
  readonly findings: readonly Finding[];
  readonly settings: Settings | undefined;
  /** The incomplete settings; present if every file could be read. */
  readonly draft: Settings | undefined;
  /** Whether a mistake prevented further checks: risks, duplicates, policy. */
  readonly isPartial: boolean;
  /** All files that were read or failed to be read, the requested one first. */
  readonly files: readonly string[];
}

/**
 * Reads a settings file with its includes, and finds all errors, policy violations and suspicious declarations. Sends no request to the
 * service. Never throws.
 *
 * @param file the path relative to the working directory.
 */
export function lintSettings(file: string, options: ReadOptions = {}): LintResult {
  const { settings, draft, findings: found, files } = inspectSettings(file, options);
  if (draft === undefined) return { findings: found, settings: undefined, draft, isPartial: true, files };
  const findings = inOrder([...found, ...judgeSettings(draft)]);
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
export function judgeSettings(settings: Settings): Finding[] {
  return [
    ...policyFindings(settings),
    ...coveredFindings(settings),
    ...endFindings(settings),
    ...reviewFindings(settings),
    ...riskFindings(settings),
    ...scopeFindings(settings),
  ];
}

/** Entries that expire within this many days get a note. */
const SOON_DAYS = 30;

/** Finds entries below another entry: redundant ones and exceptions. */
function coveredFindings({ entries }: Settings): Finding[] {
  // Most entries of a long list have no declared parent, so index only possible parents.
  const below = entries.filter((entry) => domainsAbove(entry).length > 0);
  const asked = new Set(below.flatMap(domainsAbove));
  if (asked.size === 0) return [];
  const domains = new Map<string, DeclaredEntry>();
  for (const entry of entries) {
    if (entry.entryType === "domain" && asked.has(entry.value))
      domains.set(scoped(entry, entry.value), entry);
  }
  return below.map((entry) => coveredFinding(entry, domains)).filter((found) => found !== undefined);
}

function coveredFinding(
  entry: DeclaredEntry,
  domains: ReadonlyMap<string, DeclaredEntry>,
): Finding | undefined {
  for (const domain of domainsAbove(entry)) {
    const above = domains.get(scoped(entry, domain));
    if (above === undefined) continue;
    if (above.list !== entry.list) return contradicted(entry, above);
    // If the wider entry expires first, the narrower one is still needed.
    if (!endsBefore(above, entry)) return shadowed(entry, above);
  }
  return undefined;
}

/** Returns a lookup key of a domain in an entry's scope. The default scope needs no new string. */
function scoped({ verdictScope }: DeclaredEntry, domain: string): string {
  return verdictScope === DEFAULT_VERDICT_SCOPE ? domain : `${verdictScope} ${domain}`;
}

/** Returns the parent domains of an entry, the nearest first. */
function domainsAbove({ entryType, value }: DeclaredEntry): string[] {
  if (entryType === "ip") return [];
  const above: string[] = [];
  const at = value.lastIndexOf("@");
  if (at >= 0) above.push(value.slice(at + 1));
  // A top-level domain such as `com` can't be declared.
  const last = value.lastIndexOf(".");
  for (let dot = value.indexOf(".", at + 1); dot >= 0 && dot < last; dot = value.indexOf(".", dot + 1)) {
    above.push(value.slice(dot + 1));
  }
  return above;
}

function shadowed(entry: DeclaredEntry, above: DeclaredEntry): Finding {
  return finding(
    "shadowed",
    "warning",
    entry,
    `${quote(entry.written)} is covered by ${quote(above.written)}, which is on the ${above.list} list at ${lineText(above.place)}; take one of the two away`,
  );
}

function contradicted(entry: DeclaredEntry, above: DeclaredEntry): Finding {
  const [doing, done] = entry.list === "allow" ? ["allowed", "denied"] : ["denied", "allowed"];
  return finding(
    "contradicted",
    "note",
    entry,
    `${quote(entry.written)} is ${doing}, and ${quote(above.written)} above it is ${done} at ${lineText(above.place)}; the service's reference does not say which of the two decides, so find out before you count on the exception`,
  );
}

function endsBefore(one: Declared, other: Declared): boolean {
  return endOf(one) < endOf(other);
}

function endOf({ expires }: Declared): string {
  return expires === undefined || expires === "never" ? "9999-12-31" : expires;
}

function endFindings({ entries, vips, expired, today }: Settings): Finding[] {
  const soon = dayAfter(today, SOON_DAYS);
  return [
    ...expired.map((one) =>
      finding(
        "expired",
        "warning",
        one,
        `${quote(one.written)} was declared until ${one.expires}, and is declared no longer; take it away, or write a later date if it is still needed`,
      ),
    ),
    ...[...entries, ...vips]
      .filter((one) => one.expires !== undefined && one.expires !== "never" && one.expires <= soon)
      .map((one) =>
        finding(
          "expires-soon",
          "note",
          one,
          `${quote(one.written)} is declared until ${one.expires}, ${inDays(today, one.expires ?? today)}; write a later date if it is needed for longer`,
        ),
      ),
  ];
}

/** Finds likely typos of known scopes, and reports other unknown scopes once, because a service may know them. */
function scopeFindings({ entries }: Settings): Finding[] {
  const known: readonly string[] = KNOWN_VERDICT_SCOPES;
  const told = new Set<string>();
  return entries.flatMap((entry) => {
    const { verdictScope, written } = entry;
    if (known.includes(verdictScope)) return [];
    const meant = slipOf(verdictScope, known);
    if (meant === undefined) {
      if (told.has(verdictScope)) return [];
      told.add(verdictScope);
      const message = `${quote(written)} has the scope ${quote(verdictScope)}, which this version does not know: it knows ${known.join(" and ")}. A service that does not know it either refuses the entry when it is written`;
      return [finding("scope-other", "note", entry, message)];
    }
    const message = `${quote(written)} has the scope ${quote(verdictScope)}; did you mean ${meant}? A service that does not know it refuses the entry when it is written`;
    return [finding("scope-unknown", "warning", entry, message)];
  });
}

function riskFindings({ entries, ownDomains, policy }: Settings): Finding[] {
  const own = new OwnDomains([...ownDomains]);
  return entries.flatMap((entry) => {
    const { list, entryType, acceptRisk, written, expires } = entry;
    if (acceptRisk === undefined) return [];
    const risks = risksOf(entry, own);
    const isWholeDomain =
      policy.refuseWholeDomains === true && list === "allow" && entryType === "domain" && risks.length === 0;
    const mayLetIn = list === "allow" || (expires !== undefined && expires !== "never");
    if (risks.length === 0 && !isWholeDomain && mayLetIn) {
      const what = list === "allow" ? "it" : "its end";
      const message = `${quote(written)} is not risky by itself; a plan takes \`acceptRisk\` as the reason why ${what} is meant whatever the mail from there says: ${quote(acceptRisk, 500)}`;
      return [finding("accepted-mail", "note", entry, message)];
    }
    if (risks.length === 0 && !isWholeDomain) {
      const message = `${quote(written)} is not risky, as far as can be told here, so there is nothing to accept; take \`acceptRisk\` away, lest it hide a risk to come`;
      return [finding("accepted-nothing", "warning", entry, message)];
    }
    const told = isWholeDomain
      ? "policy-whole-domain: it allows a whole domain"
      : risks.map(({ code }) => `${code}: it ${RISKS[code].title}`).join("; ");
    const message = `${quote(written)} is risky (${told}), and accepted because: ${quote(acceptRisk, 500)}`;
    return [finding("accepted-risk", "note", entry, message)];
  });
}

function finding(
  code: string,
  level: Finding["level"],
  one: DeclaredEntry | DeclaredVip,
  message: string,
): Finding {
  return { code, level, message, place: one.place, subject: { kind: one.kind, key: one.key } };
}

function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

function inDays(today: string, day: string): string {
  const days = Math.round((Date.parse(day) - Date.parse(today)) / DAY_MS);
  if (days === 0) return "which is today";
  return days === 1 ? "which is tomorrow" : `in ${days} days`;
}

const DAY_MS = 24 * 60 * 60 * 1000;
