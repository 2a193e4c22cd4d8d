import * as crypto from "node:crypto";
import { parseMailbox } from "./entry-value";
import { isFreeMail } from "./free-mail";
import { isPublicSuffix, type OwnDomains } from "./own-domains";
import { quote } from "./text";

/*
 * By whose mailboxes it is, a tenant is told from another: an API key says nothing of that. Only a salted fingerprint of their
 * domains is ever kept.
 */

/** The mail domains of a tenant's own people, as far as they were seen. */
export interface People {
  /** In canonical form. */
  readonly domains: ReadonlySet<string>;
  /** Whether there are no others. */
  readonly isWhole: boolean;
}

/** @param mailboxes of people whom the service knows as the tenant's own: VIPs, protected mailboxes, reporters of phishing. */
export function peopleOf(mailboxes: Iterable<string | undefined>, isComplete: boolean): People {
  return { domains: new Set(listMailboxDomains(mailboxes)), isWhole: isComplete };
}

/** A domain of fewer of the mailboxes is a guest's. */
const MIN_SHARE = 0.1;

/**
 * The domains that a tenant's own people most likely share, the commonest first: those of at least a tenth of their
 * mailboxes, where not everybody can have one. A person is to look at them before they are gone by.
 */
export function likelyOwnDomains(mailboxes: Iterable<string | undefined>): readonly string[] {
  const domains = listMailboxDomains(mailboxes);
  return [...Map.groupBy(domains, (domain) => domain)]
    .filter(([domain, { length }]) => length >= domains.length * MIN_SHARE && !isPublicDomain(domain))
    .sort(([a, { length: countA }], [b, { length: countB }]) => countB - countA || (a < b ? -1 : 1))
    .map(([domain]) => domain);
}

function isPublicDomain(domain: string): boolean {
  return isFreeMail(domain) || isPublicSuffix(domain);
}

/** The domain of each mailbox that is one. */
function listMailboxDomains(mailboxes: Iterable<string | undefined>): string[] {
  return [...mailboxes].flatMap((mailbox) =>
    mailbox === undefined ? [] : (parseMailboxDomain(mailbox) ?? []),
  );
}

function parseMailboxDomain(text: string): string | undefined {
  const mailbox = parseMailbox(text.trim());
  return mailbox.ok ? mailbox.value.slice(mailbox.value.lastIndexOf("@") + 1) : undefined;
}

/** Whether people are seen, and none of them has a mailbox of an own domain. */
export function areStrangers({ domains }: People, ownDomains: OwnDomains): boolean {
  if (ownDomains.names.length === 0 || domains.size === 0) return false;
  return ![...domains].some((domain) => ownDomains.holding(domain) !== undefined);
}

/** So many domains are kept, of whatever many a tenant has had. */
const MAX_DOMAINS = 8;
/** It stands in each resource of a state, and so is to be short: of 16 million domains, two are alike. */
const SALT_LENGTH = 3;
const HASH_LENGTH = 4;
const FINGERPRINT_PATTERN = /^[\w-]{3}(?:[\w-]{4}){1,8}$/;

/**
 * A salted fingerprint of the domains, of 7 to 35 characters: it tells whether another tenant has one of them, and not which
 * they are. Undefined where none was ever seen.
 *
 * @param before the fingerprint so far. What it knows stays known, so that whoever gains a domain and then loses the one of
 * before is still the same.
 */
export function fingerprintOf({ domains }: People, before?: string): string | undefined {
  const [salt = "", ...known] = splitFingerprint(before);
  if (domains.size === 0) return known.length === 0 ? undefined : before;
  const usedSalt =
    salt === "" ? crypto.randomBytes(SALT_LENGTH).toString("base64url").slice(0, SALT_LENGTH) : salt;
  const currentHashes = new Set([...domains].map((domain) => hashDomain(domain, usedSalt)));
  const addedHashes = [...currentHashes].filter((hash) => !known.includes(hash)).sort();
  const pastHashes = known.filter((hash) => !currentHashes.has(hash));
  const capacity = Math.max(0, MAX_DOMAINS - (known.length - pastHashes.length) - addedHashes.length);
  const forgottenHashes = new Set(pastHashes.slice(capacity));
  // In the order of before: a state that changes is told as changed.
  const allHashes = [...known.filter((hash) => !forgottenHashes.has(hash)), ...addedHashes];
  return [usedSalt, ...allHashes.slice(0, MAX_DOMAINS)].join("");
}

/** The same, made wholly anew where the one so far is of other people. */
export function renewed(before: string | undefined, mailDomains: People): string | undefined {
  const isOther = before !== undefined && strangersAmong([before], mailDomains).length > 0;
  return fingerprintOf(mailDomains, isOther ? undefined : before);
}

/**
 * Those fingerprints that are of other people. One that shares a domain with the people is of the tenant, and so is one that
 * shares a domain with such a one: a resource that is long unchanged knows only the domains of its day.
 */
export function strangersAmong(fingerprints: Iterable<string>, { domains }: People): string[] {
  if (domains.size === 0) return [];
  const remaining = new Map(
    [...fingerprints].map((fingerprint) => [fingerprint, splitFingerprint(fingerprint)] as const),
  );
  const salts = new Set([...remaining.values()].flatMap(([salt = []]) => salt));
  /** With its salt, each hash of which it is known that it is of a domain of the tenant. */
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

/** The salt, and then the hashes; nothing of what can't be read. */
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

/** From so many on, it is no chance that nothing of what a state holds is there. */
export const ENOUGH = 5;

/** What every refusal leads with. */
export const OTHER_TENANT_LEAD = "The key reaches another tenant than it is meant for, as it seems";

/** What to do about strangers who are none. */
export const ADD_OWN_DOMAIN = "Where it is the right one, add its domain to ownDomains.";

/** So many of the domains that are seen are named. */
const MAX_SHOWN_DOMAINS = 3;

/** By what strangers are told, in the middle of a sentence. */
export function strangersSign(mailDomains: People): string {
  return `its own people have mailboxes of ${fewOf(mailDomains.domains)}, and none of the own domains that are configured (ownDomains)`;
}

/**
 * By what other people than those of before are told, in the middle of a sentence.
 *
 * @param resourceName what is known to be of others.
 */
export function otherPeopleSign(mailDomains: People, resourceName?: string): string {
  const subject = resourceName === undefined ? "this was" : `this (${quote(resourceName, 100)}) was`;
  return `its own people have mailboxes of ${fewOf(mailDomains.domains)}, and nobody had at the tenant that ${subject} applied to before`;
}

/** The environment's variable by which a person says for one run that a tenant may be empty, or its people be others. */
const ACCEPT_VARIABLE = "EMAIL_SECURITY_ACCEPT_EMPTY_TENANT";

/**
 * Whether a run may find a tenant emptied, or with other people. Only the environment says so, which is of one run: left in a
 * file, it would let the next accident pass.
 *
 * @param name the explicit `Provider` or the tenant of a rollout; undefined for the one tenant of the environment.
 */
export function acceptsEmptyTenant(
  environment: Readonly<Record<string, string | undefined>>,
  name: string | undefined,
): boolean {
  const accepted = (environment[ACCEPT_VARIABLE] ?? "").split(",").map((value) => value.trim());
  return accepted.some((value) => (name === undefined ? /^(1|true|yes)$/i.test(value) : value === name));
}

/** How a run is told that what keeps it is as it should be. */
export function acceptingIt(
  condition: string,
  environment: Readonly<Record<string, string | undefined>>,
  name: string | undefined,
): string {
  const value = environment[ACCEPT_VARIABLE];
  const currentText = value === undefined || value === "" ? "" : ` (it is ${quote(value, 100)} now)`;
  return `Where it is the right one, and only ${condition}, say so for this one run: ${ACCEPT_VARIABLE}=${name ?? "true"}${currentText}.`;
}

/** The first of the domains, quoted, and how many more there are. */
export function fewOf(domains: Iterable<string>): string {
  const names = [...domains].map((domain) => quote(domain, 100));
  return [
    ...names.slice(0, MAX_SHOWN_DOMAINS),
    ...(names.length > MAX_SHOWN_DOMAINS ? [`${names.length - MAX_SHOWN_DOMAINS} more`] : []),
  ].join(", ");
}
