import { parse } from "tldts";

/*
 * Uses email-providers, a package that is updated monthly and holds only data: its installation runs no code. The data is loaded on first
 * use to keep process start fast.
 */

let freeMailDomains: ReadonlySet<string> | undefined;
let largeProviderNames: ReadonlySet<string> | undefined;

/**
 * Whether anybody can get a mailbox at a domain (in canonical form) for free or cheaply: free mail, an internet provider or a throwaway
 * service.
 */
export function isFreeMail(domain: string): boolean {
  freeMailDomains ??= new Set(require("email-providers/all.json") as string[]);
  return freeMailDomains.has(domain) && !RESERVED_DOMAINS.has(domain);
}

/**
 * Whether millions of people have their mailbox at a domain (in canonical form). These are the large providers, in any country. Throwaway
 * services don't count: few are that large, and denying them is sensible.
 */
export function isLargeFreeMail(domain: string): boolean {
  largeProviderNames ??= new Set((require("email-providers/common.json") as string[]).map(getMailProviderName));
  return isFreeMail(domain) && largeProviderNames.has(getMailProviderName(domain));
}

/** The example domains of RFC 2606, which the package lists as providers by mistake. */
const RESERVED_DOMAINS: ReadonlySet<string> = new Set(["example.com", "example.net", "example.org"]);

/** Returns the name that `outlook.com` and `outlook.co.id` share. */
function getMailProviderName(domain: string): string {
  return parse(domain, { extractHostname: false, validateHostname: false }).domainWithoutSuffix ?? domain;
}
