import { type EntryValue, parseMailbox } from "../model/entry-value";
import { isPublicSuffix, type OwnDomains } from "../model/own-domains";
import { refang } from "../model/refang";
import { findEntryRisks, RISKS } from "../model/risk";
import { isPopularDomain } from "./popular-domains";
import { ItemCounter } from "./skipped-items";
import type { SkippedItems, SourceItem } from "./source-content";
import type { SourceSection } from "./source-file";

/** The settings that decide which items of a source can be declared. */
export interface AssessmentContext {
  readonly ownDomains: OwnDomains;
  /** The declared VIPs, in canonical form. */
  readonly vips: ReadonlySet<string>;
  /** The domains of their mailboxes, with all parents. */
  readonly vipDomains: ReadonlySet<string>;
  /** Returns where a value is declared outside of the source's own file. */
  readonly findDeclaration: (section: SourceSection, value: string) => string | undefined;
  /** Whether a person accepted the risk of a value. */
  readonly isAccepted: (value: string) => boolean;
}

export interface AssessedItems {
  /** The names of the items by value, in canonical form. */
  readonly names: ReadonlyMap<string, string | undefined>;
  readonly rejectedValues: ReadonlySet<string>;
  /** Items that can't be entries or VIPs. */
  readonly skipped: readonly SkippedItems[];
  /** Items that are entries or VIPs, but that a source may not declare. */
  readonly rejected: readonly SkippedItems[];
}

/**
 * Converts the items of a source to values, and rejects the risky ones, by the rules for every entry. A source can't give a reason to
 * accept a risk.
 */
export function assessItems(
  items: readonly SourceItem[],
  section: SourceSection,
  hasHosts: boolean,
  context: AssessmentContext,
): AssessedItems {
  const names = new Map<string, string | undefined>();
  const skipped = new ItemCounter();
  const rejected = new ItemCounter();
  const rejectedValues = new Set<string>();
  const seen = new Set<string>();
  for (const { value: text, name } of items) {
    const parsed = section === "vips" ? parsePersonValue(text) : parseIndicator(text, hasHosts);
    if (typeof parsed === "string") {
      skipped.add(parsed, text);
      continue;
    }
    const { canonical } = parsed;
    if (seen.has(canonical)) continue;
    seen.add(canonical);
    const reason = section === "vips" ? undefined : findRejection(parsed, section, context);
    const declaredAt = context.findDeclaration(section, canonical);
    if (reason === undefined && declaredAt === undefined) {
      names.set(canonical, name);
      continue;
    }
    rejectedValues.add(canonical);
    rejected.add(reason ?? `is already declared in ${declaredAt}`, canonical);
  }
  return { names, rejectedValues, skipped: skipped.list(), rejected: rejected.list() };
}

function parsePersonValue(text: string): EntryValue | string {
  const parsed = parseMailbox(text.trim());
  return parsed.ok ? { canonical: parsed.value, entryType: "email_address" } : "isn't a mailbox";
}

function parseIndicator(text: string, hasHosts: boolean): EntryValue | string {
  const parsed = refang(text);
  if (!parsed.ok) {
    return /\/\d{1,3}$|^[\d.]+ ?- ?[\d.]+$/.test(text.trim())
      ? "is a range of addresses, which an entry can't express"
      : "isn't a domain, an IP address or a mailbox";
  }
  const isUrl = parsed.value.isCorrected && URL_FORM.test(text);
  return isUrl && !hasHosts ? "is a URL; set `hosts: true` to use its host" : parsed.value;
}

/** A URL, defanged or not, or a host with a path. */
const URL_FORM = /^\s*[a-z]{2,8}\[?:\]?\/\/|^[^\s@]+\/./i;

function findRejection(
  { canonical: value, entryType }: EntryValue,
  list: "allow" | "deny",
  { ownDomains, vips, vipDomains, isAccepted }: AssessmentContext,
): string | undefined {
  if (isAccepted(value)) return undefined;
  const [risk] = findEntryRisks({ list, value, entryType }, ownDomains);
  if (risk !== undefined) return `${RISKS[risk.code].title} (${risk.code})`;
  if (entryType === "email_address" && vips.has(value)) return "is the mailbox of a VIP";
  if (entryType === "domain" && isPublicSuffix(value))
    return "is a public suffix, under which anyone can have a domain";
  if (entryType === "domain" && vipDomains.has(value)) return "is the domain of a VIP";
  if (list === "deny" && entryType === "domain" && isPopularDomain(value.replace(/^www\./, "")))
    return "is a popular domain, from which nearly every organization receives mail";
  return undefined;
}
