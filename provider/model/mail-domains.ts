import * as crypto from "node:crypto";
import { getMailDomain, parseMailbox } from "./entry-value";
import { isTruthy } from "./environment-variables";
import { isFreeMail } from "./free-mail";
import { isPublicSuffix, type OwnDomains } from "./own-domains";
import { quote } from "./text";

/*
 * An API key doesn't identify its tenant, but the mail domains of its people do. Only a salted fingerprint of these domains is stored.
 */

export interface MailDomains {
  /** In canonical form. */
  readonly domains: ReadonlySet<string>;
  /** Whether the set of domains is complete. */
  readonly isComplete: boolean;
}

/** @param mailboxes of people that the service treats as the tenant's own: VIPs, protected mailboxes, people who report phishing. */
export function collectMailDomains(mailboxes: Iterable<string | undefined>, isComplete: boolean): MailDomains {
  return { domains: new Set(listMailboxDomains(mailboxes)), isComplete };
}

/** A domain with a smaller share of the mailboxes belongs to guests. */
const MIN_SHARE = 0.1;

/**
 * Lists the domains that most likely belong to the tenant, the most frequent first. Each has at least a tenth of the mailboxes and isn't
 * open to everybody. A person must review the list before use.
 */
export function suggestOwnDomains(mailboxes: Iterable<string | undefined>): readonly string[] {
  const domains = listMailboxDomains(mailboxes);
  return [...Map.groupBy(domains, (domain) => domain)]
    .filter(([domain, { length }]) => length >= domains.length * MIN_SHARE && !isPublicDomain(domain))
    .sort(([a, { length: countA }], [b, { length: countB }]) => countB - countA || (a < b ? -1 : 1))
    .map(([domain]) => domain);
}

function isPublicDomain(domain: string): boolean {
  return isFreeMail(domain) || isPublicSuffix(domain);
}

function listMailboxDomains(mailboxes: Iterable<string | undefined>): string[] {
  return [...mailboxes].flatMap((mailbox) => (mailbox === undefined ? [] : (parseMailboxDomain(mailbox) ?? [])));
}

function parseMailboxDomain(text: string): string | undefined {
  const mailbox = parseMailbox(text.trim());
  return mailbox.ok ? getMailDomain(mailbox.value) : undefined;
}

/** Whether people are known, but none of them has a mailbox at an own domain. */
export function hasOnlyForeignDomains({ domains }: MailDomains, ownDomains: OwnDomains): boolean {
  if (ownDomains.names.length === 0 || domains.size === 0) return false;
  return ![...domains].some((domain) => ownDomains.findOwnDomain(domain) !== undefined);
}

const MAX_DOMAINS = 8;
/** The salt and the hashes are short, because every resource in state stores a fingerprint. Two of 16 million domains collide. */
const SALT_LENGTH = 3;
const HASH_LENGTH = 4;
const FINGERPRINT_PATTERN = /^[\w-]{3}(?:[\w-]{4}){1,8}$/;

/**
 * Returns a salted fingerprint of the domains, 7 to 35 characters long. It shows whether another tenant shares a domain, without revealing
 * the domains. Undefined if no domain was ever known.
 *
 * @param before the previous fingerprint. Its domains stay in the new one. A tenant that gains a domain and later loses the old one
 * therefore still matches.
 */
export function buildDomainFingerprint({ domains }: MailDomains, before?: string): string | undefined {
  const [salt = "", ...known] = splitFingerprint(before);
  if (domains.size === 0) return known.length === 0 ? undefined : before;
  const usedSalt = salt === "" ? crypto.randomBytes(SALT_LENGTH).toString("base64url").slice(0, SALT_LENGTH) : salt;
  const currentHashes = new Set([...domains].map((domain) => hashDomain(domain, usedSalt)));
  const addedHashes = [...currentHashes].filter((hash) => !known.includes(hash)).sort();
  const pastHashes = known.filter((hash) => !currentHashes.has(hash));
  const capacity = Math.max(0, MAX_DOMAINS - (known.length - pastHashes.length) - addedHashes.length);
  const forgottenHashes = new Set(pastHashes.slice(capacity));
  // Keeps the previous order, because a different order would show up as a change of state.
  const allHashes = [...known.filter((hash) => !forgottenHashes.has(hash)), ...addedHashes];
  return [usedSalt, ...allHashes.slice(0, MAX_DOMAINS)].join("");
}

/** Updates a fingerprint, or starts from scratch if the previous one belongs to other people. */
export function updateFingerprint(before: string | undefined, mailDomains: MailDomains): string | undefined {
  const isOther = before !== undefined && findForeignFingerprints([before], mailDomains).length > 0;
  return buildDomainFingerprint(mailDomains, isOther ? undefined : before);
}

/**
 * Returns the fingerprints of other people. A fingerprint matches if it shares a domain with the people, or with another fingerprint that
 * matches. The second step is needed because a long unchanged resource knows only the domains of its time.
 */
export function findForeignFingerprints(fingerprints: Iterable<string>, { domains }: MailDomains): string[] {
  if (domains.size === 0) return [];
  const remaining = new Map(
    [...fingerprints].map((fingerprint) => [fingerprint, splitFingerprint(fingerprint)] as const),
  );
  const salts = new Set([...remaining.values()].flatMap(([salt = []]) => salt));
  /** The salted hashes that are known to belong to the tenant's domains. */
  const ownHashes = new Set(
    [...salts].flatMap((salt) => [...domains].map((domain) => salt + hashDomain(domain, salt))),
  );
  for (let previousSize = -1; previousSize !== remaining.size; ) {
    previousSize = remaining.size;
    for (const [fingerprint, [salt, ...hashes]] of remaining) {
      if (salt !== undefined && !hashes.some((hash) => ownHashes.has(salt + hash))) continue;
      for (const hash of hashes) ownHashes.add(salt + hash);
      remaining.delete(fingerprint);
    }
  }
  return [...remaining.keys()];
}

/** Returns the salt, followed by the hashes. Empty if the fingerprint isn't valid. */
function splitFingerprint(fingerprint: string | undefined): string[] {
  if (fingerprint === undefined || !FINGERPRINT_PATTERN.test(fingerprint)) return [];
  const count = (fingerprint.length - SALT_LENGTH) / HASH_LENGTH;
  const getOffset = (index: number): number => SALT_LENGTH + index * HASH_LENGTH;
  return [
    fingerprint.slice(0, SALT_LENGTH),
    ...Array.from({ length: count }, (_, index) => fingerprint.slice(getOffset(index), getOffset(index + 1))),
  ];
}

function hashDomain(domain: string, salt: string): string {
  return crypto.hash("sha256", `${salt} ${domain}`, "base64url").slice(0, HASH_LENGTH);
}

/** The number of entries or VIPs that rules out a coincidence, if all are missing or if at least half match. */
export const MIN_EVIDENCE = 5;

/** The first sentence of every error about a wrong tenant. */
export const OTHER_TENANT_LEAD = "The API key seems to belong to a different tenant than intended";

/** The remedy for a false alarm. */
export const ADD_OWN_DOMAIN_ADVICE = "If it is the right tenant, add its domain to ownDomains.";

const MAX_SHOWN_DOMAINS = 3;

export function describeUnexpectedDomains(mailDomains: MailDomains): string {
  return `the tenant's own people have mailboxes of ${formatFirstDomains(mailDomains.domains)}, which aren't among the configured own domains (ownDomains)`;
}

/**
 * Describes a change of people since the previous run, for the middle of a sentence.
 *
 * @param resourceName a resource that is known to belong to other people.
 */
export function describeChangedDomains(mailDomains: MailDomains, resourceName?: string): string {
  const subject = resourceName === undefined ? "this was" : `this (${quote(resourceName, 100)}) was`;
  return `the tenant's own people have mailboxes of ${formatFirstDomains(mailDomains.domains)}, but nobody had one at the tenant to which ${subject} applied before`;
}

/** The environment variable that accepts an empty tenant or different people for one run. */
const ACCEPT_VARIABLE = "EMAIL_SECURITY_ACCEPT_EMPTY_TENANT";

/**
 * Whether a run may find a tenant empty, or with different people. Only the environment can allow this, because it applies to one run. A
 * setting in a file would hide the next accident.
 *
 * @param name the explicit `Provider`, or the tenant of a rollout. Undefined for the single tenant of the environment.
 */
export function isEmptyTenantAccepted(
  environment: Readonly<Record<string, string | undefined>>,
  name: string | undefined,
): boolean {
  const accepted = (environment[ACCEPT_VARIABLE] ?? "").split(",").map((value) => value.trim());
  return accepted.some((value) => (name === undefined ? isTruthy(value) : value === name));
}

export function formatAcceptAdvice(
  condition: string,
  environment: Readonly<Record<string, string | undefined>>,
  name: string | undefined,
): string {
  const value = environment[ACCEPT_VARIABLE];
  const currentText = value === undefined || value === "" ? "" : ` (it is currently ${quote(value, 100)})`;
  return `If it is the right tenant, and only ${condition}, confirm that for this one run: ${ACCEPT_VARIABLE}=${name ?? "true"}${currentText}.`;
}

export function formatFirstDomains(domains: Iterable<string>): string {
  const names = [...domains].map((domain) => quote(domain, 100));
  return [
    ...names.slice(0, MAX_SHOWN_DOMAINS),
    ...(names.length > MAX_SHOWN_DOMAINS ? [`${names.length - MAX_SHOWN_DOMAINS} more`] : []),
  ].join(", ");
}
