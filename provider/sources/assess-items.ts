import { type EntryValue, getMailDomain, parseMailbox } from "../model/entry-value";
import { isFreeMail } from "../model/free-mail";
import { isPublicSuffix, NO_OWN_DOMAINS, type OwnDomains } from "../model/own-domains";
import { refang } from "../model/refang";
import { findEntryRisks, isSingleSender, RISKS, type RiskSubject } from "../model/risk";
import { isMailboxProvider, isPopularDomain } from "./popular-domains";
import { ItemCounter } from "./skipped-items";
import type { SkippedItems, SourceItem } from "./source-content";
import type { SourceSection } from "./source-file";

/** The settings that decide which items of a source can be declared. */
export interface AssessmentContext {
  readonly ownDomains: OwnDomains;
  /** The declared VIPs, in canonical form. */
  readonly vips: ReadonlySet<string>;
  /** The domains of their mailboxes. A VIP is a person of the organization, so that these are its own. */
  readonly vipDomains: OwnDomains;
  /** Returns where a value is declared outside of the source's own file. */
  readonly findDeclaration: (section: SourceSection, value: string) => string | undefined;
  /** Whether a person accepted the risk of a value. */
  readonly isAccepted: (value: string) => boolean;
}

export interface AssessedItems {
  /** The names of the items by value, in canonical form. */
  readonly names: ReadonlyMap<string, string | undefined>;
  readonly rejectedValues: ReadonlySet<string>;
  /** Whether a change of other settings could permit a rejected value. */
  readonly dependsOnSettings: boolean;
  /** Items that are entries or VIPs, but that a source may not declare. */
  readonly rejected: readonly SkippedItems[];
}

/** The items of a source that can be entries or VIPs. */
export interface ParsedItems {
  /** By value, in canonical form. */
  readonly values: ReadonlyMap<string, { readonly entry: EntryValue; readonly name: string | undefined }>;
  /** Items that can't be entries or VIPs. */
  readonly skipped: readonly SkippedItems[];
}

/** Parses the items of a source. The first item of a value counts. */
export function parseItems(items: readonly SourceItem[], section: SourceSection, hasHosts: boolean): ParsedItems {
  const values = new Map<string, { readonly entry: EntryValue; readonly name: string | undefined }>();
  const skipped = new ItemCounter();
  for (const { value: text, name } of items) {
    const parsed = section === "vips" ? parsePersonValue(text) : parseIndicator(text, hasHosts);
    if (typeof parsed === "string") skipped.add(parsed, text);
    else if (!values.has(parsed.canonical)) values.set(parsed.canonical, { entry: parsed, name });
  }
  return { values, skipped: skipped.list() };
}

/** Rejects risky values, by the rules for every entry. A source can't give a reason to accept a risk. */
export function assessItems(
  values: ParsedItems["values"],
  section: SourceSection,
  context: AssessmentContext,
): AssessedItems {
  const names = new Map<string, string | undefined>();
  const rejected = new ItemCounter();
  const rejectedValues = new Set<string>();
  let dependsOnSettings = false;
  for (const [value, { entry, name }] of values) {
    const unsafeReason = section === "vips" || context.isAccepted(value) ? undefined : findUnsafeReason(entry, section);
    const reason = unsafeReason ?? findConflict(entry, section, context);
    if (reason === undefined) {
      names.set(value, name);
      continue;
    }
    dependsOnSettings ||= unsafeReason === undefined;
    rejectedValues.add(value);
    rejected.add(reason, value);
  }
  return { names, rejectedValues, dependsOnSettings, rejected: rejected.list() };
}

function parsePersonValue(text: string): EntryValue | string {
  const parsed = parseMailbox(text.trim());
  return parsed.ok ? { canonical: parsed.value, entryType: "email_address" } : "isn't a mailbox";
}

function parseIndicator(text: string, hasHosts: boolean): EntryValue | string {
  // Removing one would join two values.
  if (/\p{Cc}/u.test(text.trim())) return "contains a control character";
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
const URL_FORM = /^\s*[a-z]{2,8}[[({]?:(?:[\])}]?\/\/|\/\/[\])}])|^[^\s@]+\/./i;

/** Returns why no source may declare a value, whatever the other settings are. */
function findUnsafeReason(entry: EntryValue, list: "allow" | "deny"): string | undefined {
  const { canonical: value, entryType } = entry;
  if (entryType === "ip")
    return isSingleSender(value) ? undefined : "is a private or special address, which doesn't identify a sender";
  const domain = getOwnerDomain(getMailDomain(value));
  const risk = findRisk({ list, value: entryType === "domain" ? domain : value, entryType }, NO_OWN_DOMAINS);
  if (risk !== undefined) return risk;
  if (entryType === "domain" && isPublicSuffix(domain))
    return "is a public suffix, under which anyone can have a domain";
  if (entryType === "domain" && isMailboxProvider(domain))
    return "is a mail provider, at which many people have their mailbox";
  // A single mailbox at a free-mail provider belongs to a single person.
  if (isPopularDomain(domain) && (entryType === "domain" || !isFreeMail(domain)))
    return `is ${entryType === "domain" ? "" : "a mailbox of "}a popular domain, from which nearly every organization receives mail`;
  return undefined;
}

/** Returns which other setting conflicts with a value. */
function findConflict(
  { canonical: value, entryType }: EntryValue,
  section: SourceSection,
  { ownDomains, vips, vipDomains, isAccepted, findDeclaration }: AssessmentContext,
): string | undefined {
  const declaredAt = findDeclaration(section, value);
  const declaration = declaredAt === undefined ? undefined : `is already declared in ${declaredAt}`;
  if (section === "vips" || isAccepted(value)) return declaration;
  const risk = findRisk({ list: section, value, entryType }, ownDomains);
  if (risk !== undefined) return risk;
  if (entryType === "email_address" && vips.has(value)) return "is the mailbox of a VIP";
  if (entryType === "ip") return declaration;
  const domain = getOwnerDomain(getMailDomain(value));
  if (entryType === "domain" && (vipDomains.findOwnDomain(domain) ?? vipDomains.findOwnSubdomain(domain)) !== undefined)
    return "is a domain of a VIP";
  if (vipDomains.findOwnDomain(domain) !== undefined) return "is a mailbox in the domain of a VIP";
  return declaration;
}

function findRisk(subject: RiskSubject, ownDomains: OwnDomains): string | undefined {
  const [risk] = findEntryRisks(subject, ownDomains);
  return risk === undefined ? undefined : `${RISKS[risk.code].title} (${risk.code})`;
}

/** Returns `evil.example` for `www.evil.example`: websites and mail servers belong to the owner of the domain. */
function getOwnerDomain(host: string): string {
  const domain = host.replace(/^(?:www|mail|mx|smtp)\d?\.(?=[^.]+\.)/, "");
  return isPublicSuffix(domain) ? host : domain;
}
