import { isIP } from "node:net";
import { domainToASCII } from "node:url";

export const entryTypes = ["domain", "ip", "email_address"] as const;

export type SandboxEntryType = (typeof entryTypes)[number];

/**
 * Returns the canonical form of a value. Values are compared and stored in this form, so `EXAMPLE.com.` and
 * `example.com` are the same entry.
 *
 * @returns undefined if the text isn't a plausible value of that type.
 */
export function parseCanonicalValue(type: SandboxEntryType, text: string): string | undefined {
  switch (type) {
    case "domain":
      return parseCanonicalDomain(text);
    case "ip":
      return parseCanonicalAddress(text);
    case "email_address":
      return parseCanonicalMailbox(text);
  }
}

/**
 * Returns a domain in lower case, as punycode and without a trailing dot. Requires at least two labels, because mail
 * domains of organizations always have them.
 */
export function parseCanonicalDomain(text: string): string | undefined {
  // domainToASCII parses its argument as the host of a URL: it would decode %41 and stop at a slash.
  if (/[\s%/\\:@?#[\]<>|^]/u.test(text)) return undefined;
  const domain = domainToASCII(text).replace(/\.$/, "");
  const labels = domain.split(".");
  const isPlausible =
    domain.length <= 253 &&
    labels.length >= 2 &&
    labels.every((label) => /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/.test(label)) &&
    // URL parsers read a name with an all-digit last label as an IP address.
    !/^\d+$/.test(labels.at(-1) ?? "");
  return isPlausible ? domain : undefined;
}

/**
 * Returns an IPv4 address as a dotted quad, or an IPv6 address as in RFC 5952. Rejects ranges and zones, because the
 * reference says "an IP address".
 */
export function parseCanonicalAddress(text: string): string | undefined {
  switch (isIP(text)) {
    case 4:
      return text;
    case 6:
      return text.includes("%") ? undefined : new URL(`http://[${text}]/`).hostname.slice(1, -1);
    default:
      return undefined;
  }
}

/** Returns a mailbox in lower case with a canonical domain. */
export function parseCanonicalMailbox(text: string): string | undefined {
  const at = text.lastIndexOf("@");
  const local = text.slice(0, Math.max(at, 0)).normalize("NFC").toLowerCase();
  const domain = parseCanonicalDomain(text.slice(at + 1));
  const isPlausible = /^[^\s\p{Cc}@"(),:;<>[\\\]]{1,64}$/u.test(local) && !/^\.|\.\.|\.$/.test(local);
  return isPlausible && domain !== undefined ? `${local}@${domain}` : undefined;
}
