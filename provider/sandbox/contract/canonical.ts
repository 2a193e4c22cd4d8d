import { isIP } from "node:net";
import { domainToASCII } from "node:url";

/** The three types of an allow/deny entry. */
export const entryTypes = ["domain", "ip", "email_address"] as const;

export type EntryType = (typeof entryTypes)[number];

/**
 * The one form in which values are compared and stored, so that `EXAMPLE.com.` and `example.com` are one entry.
 *
 * @returns undefined when the text is no plausible value of that type.
 */
export function canonicalValue(type: EntryType, text: string): string | undefined {
  switch (type) {
    case "domain":
      return canonicalDomain(text);
    case "ip":
      return canonicalAddress(text);
    case "email_address":
      return canonicalMailbox(text);
  }
}

/** Lower case, IDN as punycode, no trailing dot. At least two labels: an organization's mail has no other domains. */
export function canonicalDomain(text: string): string | undefined {
  // domainToASCII reads its text as a URL's host: it would decode %41 and stop at a slash.
  if (/[\s%/\\:@?#[\]<>|^]/u.test(text)) return undefined;
  const domain = domainToASCII(text).replace(/\.$/, "");
  const labels = domain.split(".");
  const isPlausible =
    domain.length <= 253 &&
    labels.length >= 2 &&
    labels.every((label) => /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/.test(label)) &&
    // An all-digit last label makes it an address, or something that URL parsers would turn into one.
    !/^\d+$/.test(labels.at(-1) ?? "");
  return isPlausible ? domain : undefined;
}

/** IPv4 in dotted quads, IPv6 as RFC 5952 writes it. Neither ranges nor zones: the reference says "an IP address". */
export function canonicalAddress(text: string): string | undefined {
  switch (isIP(text)) {
    case 4:
      return text;
    case 6:
      return text.includes("%") ? undefined : new URL(`http://[${text}]/`).hostname.slice(1, -1);
    default:
      return undefined;
  }
}

/** Lower case throughout, the domain canonical. */
export function canonicalMailbox(text: string): string | undefined {
  const at = text.lastIndexOf("@");
  const local = text.slice(0, Math.max(at, 0)).normalize("NFC").toLowerCase();
  const domain = canonicalDomain(text.slice(at + 1));
  const isPlausible = /^[^\s\p{Cc}@"(),:;<>[\\\]]{1,64}$/u.test(local) && !/^\.|\.\.|\.$/.test(local);
  return isPlausible && domain !== undefined ? `${local}@${domain}` : undefined;
}
