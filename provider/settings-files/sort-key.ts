import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { parse } from "tldts";
import { canonicalizeValue, getMailDomain } from "../model/entry-value";

/**
 * Returns the sort key of a value in a settings file: IP addresses first, by number; then domains and mailboxes by registered domain, which
 * groups them by owner.
 */
export function getValueSortKey(value: string): string {
  const canonical = canonicalizeValue(value);
  if (isIP(canonical) !== 0) {
    const bytes = ipaddr.parse(canonical).toByteArray();
    return ` ${bytes.length === 4 ? "4" : "6"} ${Buffer.from(bytes).toString("hex")}`;
  }
  const host = getMailDomain(canonical);
  const { domain } = parse(host, {
    extractHostname: false,
    validateHostname: false,
    allowPrivateDomains: true,
  });
  return `${domain ?? host} ${canonical}`;
}
