import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { parse } from "tldts";
import { canonicalValue } from "../settings/entry-value";

/**
 * What values are sorted by in a settings file: domains and mailboxes by the domain that somebody registered, so that
 * what is one owner's stands together, then by value; IP addresses, which come first, by number.
 */
export function sortKey(value: string): string {
  const canonical = canonicalValue(value);
  if (isIP(canonical) !== 0) {
    const bytes = ipaddr.parse(canonical).toByteArray();
    return ` ${bytes.length === 4 ? "4" : "6"} ${Buffer.from(bytes).toString("hex")}`;
  }
  const host = canonical.slice(canonical.lastIndexOf("@") + 1);
  const { domain } = parse(host, {
    extractHostname: false,
    validateHostname: false,
    allowPrivateDomains: true,
  });
  return `${domain ?? host} ${canonical}`;
}
