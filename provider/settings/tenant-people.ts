import * as crypto from "node:crypto";
import { canonicalMailbox, canonicalValue } from "./entry-value";
import type { OwnDomains } from "./own-domains";
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
export function peopleOf(mailboxes: Iterable<string | undefined>, isWhole: boolean): People {
  const domains = new Set<string>();
  for (const mailbox of mailboxes) {
    const domain = mailbox === undefined ? undefined : domainOf(mailbox);
    if (domain !== undefined) domains.add(domain);
  }
  return { domains, isWhole };
}

function domainOf(mailbox: string): string | undefined {
  const canonical = canonicalMailbox(mailbox);
  const domain = canonicalValue(canonical.slice(canonical.lastIndexOf("@") + 1));
  return canonical.includes("@") && domain !== "" ? domain : undefined;
}

/** Whether people are seen, and none of them has a mailbox of an own domain. */
export function areStrangers({ domains }: People, ownDomains: OwnDomains): boolean {
  if (ownDomains.names.length === 0 || domains.size === 0) return false;
  return ![...domains].some((domain) => ownDomains.holding(domain) !== undefined);
}

/** So many domains are kept, of whatever many a tenant has: those that come first by their hash, so that they stay the same ones. */
const MOST_DOMAINS = 8;
const SALT_BYTES = 6;
const HASH_CHARACTERS = 6;
const FINGERPRINT = /^[\w-]{8}(?:\.[\w-]{6}){1,8}$/;

/**
 * A salted fingerprint of the domains, of some 15 to 64 characters: it tells whether another has one of them, and not which
 * they are. Undefined where none was seen.
 *
 * @param before the fingerprint so far: it stays while the same domains are seen, and gives its salt to the next.
 */
export function fingerprintOf({ domains, isWhole }: People, before?: string): string | undefined {
  if (domains.size === 0) return before;
  const isUsable = before !== undefined && FINGERPRINT.test(before);
  const salt = isUsable ? saltOf(before) : crypto.randomBytes(SALT_BYTES).toString("base64url");
  // Of a part it can't be told what is gone.
  if (isUsable && !isWhole && isOf(before, { domains, isWhole })) return before;
  const hashes = [...domains].map((domain) => hashOf(domain, salt)).sort();
  return [salt, ...new Set(hashes.slice(0, MOST_DOMAINS))].join(".");
}

/** Whether a fingerprint may be of these people: where none was seen, or it can't be read, it may. */
export function isOf(fingerprint: string, { domains }: People): boolean {
  if (domains.size === 0 || !FINGERPRINT.test(fingerprint)) return true;
  const [salt = "", ...hashes] = fingerprint.split(".");
  const known = new Set(hashes);
  return [...domains].some((domain) => known.has(hashOf(domain, salt)));
}

function saltOf(fingerprint: string): string {
  return fingerprint.slice(0, fingerprint.indexOf("."));
}

function hashOf(domain: string, salt: string): string {
  return crypto.hash("sha256", `${salt} ${domain}`, "base64url").slice(0, HASH_CHARACTERS);
}

/** So many of the domains that are seen are named. */
const TOLD = 3;

/** By what strangers are told, in the middle of a sentence. */
export function strangersSign(people: People): string {
  return `its own people have mailboxes of ${fewOf(people)}, and none of the own domains that are configured (ownDomains)`;
}

/** By what other people than those of before are told, in the middle of a sentence. */
export function otherPeopleSign(people: People): string {
  return `its own people have mailboxes of ${fewOf(people)}, and nobody had at the tenant that this was applied to before`;
}

/** How a run is told that what keeps it is as it should be. */
export function acceptingIt(when: string): string {
  return `Where it is the right one, and only ${when}, say so for this one run: ${ACCEPTING}.`;
}

/** What is said for one run. */
export const ACCEPTING = "EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=true";

function fewOf({ domains }: People): string {
  const names = [...domains].map((domain) => quote(domain, 100));
  return [...names.slice(0, TOLD), ...(names.length > TOLD ? [`${names.length - TOLD} more`] : [])].join(
    ", ",
  );
}
