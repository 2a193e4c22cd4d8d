import { parse } from "tldts";

/*
 * Of email-providers, which is kept up by the month and holds data alone: no code runs when it is installed. Read when
 * first asked for, so that no start of a process waits for it.
 */

let freeMailDomains: ReadonlySet<string> | undefined;
let largeProviderNames: ReadonlySet<string> | undefined;

/** Whether anybody can have a mailbox at a domain, given in canonical form, for nothing or for little: free mail, a provider of internet access, a throwaway service. */
export function isFreeMail(domain: string): boolean {
  freeMailDomains ??= new Set(require("email-providers/all.json") as string[]);
  return freeMailDomains.has(domain) && !RESERVED_DOMAINS.has(domain);
}

/**
 * Whether millions of people have their mailbox at a domain, given in canonical form: one of the large providers, in any
 * country. Throwaway services are many, and to deny them is sensible; few of them are so large.
 */
export function isLargeFreeMail(domain: string): boolean {
  largeProviderNames ??= new Set(
    (require("email-providers/common.json") as string[]).map(getMailProviderName),
  );
  return isFreeMail(domain) && largeProviderNames.has(getMailProviderName(domain));
}

/** The names of RFC 2606 stand in examples; the list has taken them for a provider's. */
const RESERVED_DOMAINS: ReadonlySet<string> = new Set(["example.com", "example.net", "example.org"]);

/** What stays of `outlook.com` and `outlook.co.id`. */
function getMailProviderName(domain: string): string {
  return parse(domain, { extractHostname: false, validateHostname: false }).domainWithoutSuffix ?? domain;
}
