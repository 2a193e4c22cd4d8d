import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { parse as parseHost } from "tldts";
import { parseAddressRange, parseSingleAddress } from "./address-range";
import type { EntryType } from "./assumptions";
import { quote } from "./text";

/** A valid value for the allow/deny list: its type and its canonical form. */
export interface EntryValue {
  readonly entryType: EntryType;
  /**
   * Lower case, ASCII (punycode) domains without a trailing dot, RFC 5952 text for IPv6. An IPv4-mapped address, or a prefix of one address
   * (`/32`, `/128`), becomes that address.
   */
  readonly canonical: string;
}

/** The parsed value, or the reason why the text is invalid. */
export type ParseResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

/**
 * Parses a domain, an IP address or a mailbox as a person wrote it.
 *
 * Rejects anything else with the reason, and with a correction if possible. Examples: a URL, a defanged indicator (`evil[.]example`), a
 * wildcard, a display name, surrounding white space.
 */
export function parseEntryValue(text: string): ParseResult<EntryValue> {
  const parsed = parseStrict(text);
  if (parsed.ok) return parsed;
  const suggestion = suggestValue(text);
  return suggestion === undefined ? parsed : buildParseFailure(`${parsed.reason}; write ${quoteFull(suggestion)}`);
}

/** Parses a mailbox address (`local@domain`) into its canonical form, or returns why it is invalid. */
export function parseMailbox(text: string): ParseResult<string> {
  const parsed = parseMailboxStrict(text);
  if (parsed.ok) return parsed;
  const suggestion = suggestValue(text);
  const isMailbox = suggestion !== undefined && parseMailboxStrict(suggestion).ok;
  return isMailbox ? buildParseFailure(`${parsed.reason}; write ${quoteFull(suggestion)}`) : parsed;
}

/**
 * Returns the form in which values of the same type are compared. Never fails. A service may hold address ranges and wildcards, although
 * they can't be declared; these have a canonical form too. Any other text that can't be parsed becomes lower case.
 */
export function canonicalizeValue(value: string): string {
  const text = value.trim();
  const parsed = parseStrict(text);
  return parsed.ok ? parsed.value.canonical : (formatCanonicalPattern(text) ?? text.toLowerCase());
}

/** Matches `[2001:db8::1]`, `[2001:db8::]/32` and the address literals of SMTP: `[192.0.2.1]`, `[IPv6:2001:db8::1]`. */
const BRACKETED_ADDRESS = /^\[(?:IPv6:)?([\da-f:.]+)\](\/\d{1,3})?$/i;

/**
 * Returns `*.wild.example` for `*.Wild.Example.` and `.wild.example`, `*@wild.example` for `@wild.example`, and `*@*.wild.example` for
 * `@*.wild.example`. Also handles ranges of addresses, and addresses in brackets.
 */
function formatCanonicalPattern(text: string): string | undefined {
  const [, mailboxPrefix, subdomainPrefix, domainText = ""] = /^(\*?@)?(\*?\.)?(.+)$/s.exec(text) ?? [];
  if (mailboxPrefix === undefined && subdomainPrefix === undefined) {
    const address = text.replace(BRACKETED_ADDRESS, "$1$2");
    return parseSingleAddress(address) ?? parseAddressRange(address)?.canonical;
  }
  const domain = parseDomain(domainText);
  const prefix = `${mailboxPrefix === undefined ? "" : "*@"}${subdomainPrefix === undefined ? "" : "*."}`;
  // A top-level domain alone isn't a valid value, but a wildcard may cover everything below it.
  const isTopLevel = /^[a-z]{2,63}\.?$/i.test(domainText);
  if (isTopLevel) return `${prefix}${domainText.toLowerCase().replace(/\.$/, "")}`;
  return domain.ok ? `${prefix}${domain.value}` : undefined;
}

/** Returns the form in which mailboxes are compared. Never fails. */
export function canonicalizeMailbox(email: string): string {
  const text = email.trim();
  const parsed = parseMailboxStrict(text);
  return parsed.ok ? parsed.value : text.toLowerCase();
}

/** Infers the type of a value. Undefined if the value is invalid. */
export function inferEntryType(value: string): EntryType | undefined {
  const parsed = parseEntryValue(value);
  return parsed.ok ? parsed.value.entryType : undefined;
}

/** Returns the type and canonical value, which are equal for duplicate entries. */
export function buildNaturalKey(entryType: string, value: string): string {
  return `${entryType}:${canonicalizeValue(value)}`;
}

function buildParseFailure(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}

/** Quotes a suggestion in full, because people copy it. */
function quoteFull(suggestion: string): string {
  return quote(suggestion, suggestion.length);
}

/**
 * Matches most domains, in canonical form: two or more labels of lower-case ASCII letters, digits and inner hyphens. The last label has
 * letters only. Labels of internationalized domains don't match, because they need separate checks. This fast path matters because a run
 * reads lists of thousands of entries many times.
 */
const PLAIN_DOMAIN = /^(?:(?!..--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;

export function isPlainDomain(text: string): boolean {
  if (text === lastPlainDomain) return true;
  const isPlain = text.length >= 4 && text.length <= 253 && PLAIN_DOMAIN.test(text);
  if (isPlain) lastPlainDomain = text;
  return isPlain;
}

/** Caches the last match, because each entry is checked several times in a row. */
let lastPlainDomain: string | undefined;

function parseStrict(text: string): ParseResult<EntryValue> {
  if (isPlainDomain(text)) return { ok: true, value: { entryType: "domain", canonical: text } };
  if (text.trim() === "") return buildParseFailure("is empty; write a domain, an IP address or a mailbox");
  const problem = findInvalidCharacter(text);
  if (problem !== undefined) return buildParseFailure(problem);
  if (text.includes("://"))
    return buildParseFailure(`${quote(text)} is a URL, not a domain, an IP address or a mailbox`);
  if (text.includes("@")) {
    const mailbox = parseMailboxStrict(text);
    return mailbox.ok ? { ok: true, value: { entryType: "email_address", canonical: mailbox.value } } : mailbox;
  }
  if (/^[^:]+:\d+$/.test(text)) return buildParseFailure(`${quote(text)} has a port, but entries can't have ports`);
  if (isAddressLike(text)) return parseAddress(text);
  const domain = parseDomain(text);
  return domain.ok ? { ok: true, value: { entryType: "domain", canonical: domain.value } } : domain;
}

function findInvalidCharacter(text: string): string | undefined {
  if (text !== text.trim()) return `${quote(text)} has leading or trailing white space`;
  if (SEPARATOR_CHARACTER.test(text))
    return `${quote(text)} contains a tab or a line break (an entry has only one value)`;
  if (/[\p{Cc}\p{Cf}]/u.test(text)) return `${quote(text)} contains an invisible character`;
  return undefined;
}

const SEPARATOR_CHARACTER = /[\t\n\v\f\r\u{85}\u{2028}\u{2029}]/u;

function isAddressLike(text: string): boolean {
  return /^[\d.]+$/.test(text) || ADDRESS_RANGE.test(text) || /:[^:]*:/.test(text);
}

/** Matches `192.0.2.0/24`, `192.0.2.0/255.255.255.0`, `192.0.2.1-192.0.2.9` and `192.0.2.1-9`. */
const ADDRESS_RANGE = /^[\d.]+ ?[-/] ?[\d.]+$/;

function parseAddress(text: string): ParseResult<EntryValue> {
  const address = parseSingleAddress(text);
  if (address !== undefined) return { ok: true, value: { entryType: "ip", canonical: address } };
  if (/\/\d+$/.test(text) || ADDRESS_RANGE.test(text)) {
    return buildParseFailure(`${quote(text)} is a range of addresses, but entries must be single addresses`);
  }
  if (isIP(text) === 6 && text.includes("%")) {
    return buildParseFailure(`${quote(text)} has a zone (the part after %), which is only valid on one machine`);
  }
  const octalHint = /(^|\.)0\d/.test(text) ? " (some software reads leading zeros as octal)" : "";
  return buildParseFailure(`${quote(text)} isn't a valid IP address${octalHint}`);
}

function parseMailboxStrict(text: string): ParseResult<string> {
  if (text.trim() === "") return buildParseFailure("is empty; write a mailbox such as jane.doe@example.com");
  const problem = findInvalidCharacter(text);
  if (problem !== undefined) return buildParseFailure(problem);
  const atSign = text.lastIndexOf("@");
  if (atSign < 0) return buildParseFailure(`${quote(text)} isn't a valid mailbox: it has no @`);
  if (atSign === 0) return buildParseFailure(`${quote(text)} has nothing before its @`);
  if (atSign === text.length - 1) return buildParseFailure(`${quote(text)} has nothing after its @`);
  // Unicode composition takes quadratic time for a long run of combining marks. Text of this length can't shrink below 64 bytes.
  if (atSign > 1000) return buildParseFailure(`${quote(text)} has more than 64 bytes before its @`);
  // Checks the form used for comparison, so that this form passes the same checks.
  const local = text.slice(0, atSign).normalize("NFC").toLowerCase().normalize("NFC");
  if (local.includes("*")) return buildParseFailure(`${quote(text)} is a pattern, not a single mailbox`);
  if (/[\s<>()[\]\\,;:"@]/.test(local) || /^\.|\.$|\.\./.test(local)) {
    return buildParseFailure(
      `${quote(text)} isn't a valid mailbox: ${quote(text.slice(0, atSign))} isn't valid before the @`,
    );
  }
  if (Buffer.byteLength(local) > 64) return buildParseFailure(`${quote(text)} has more than 64 bytes before its @`);
  const domain = parseDomain(text.slice(atSign + 1));
  if (!domain.ok) return buildParseFailure(`${quote(text)} isn't a valid mailbox: ${domain.reason}`);
  return { ok: true, value: `${local}@${domain.value}` };
}

function describeCharacter(character: string): string {
  return /\s/.test(character) ? "a space" : quote(character);
}

function parseDomain(text: string): ParseResult<string> {
  if (isPlainDomain(text)) return { ok: true, value: text };
  // IDNA conversion takes quadratic time. Text of this length can't shrink below 253 characters.
  if (text.length > 1000) return buildParseFailure(`${quote(text)} is longer than 253 characters`);
  if (text.startsWith("*")) return buildParseFailure(`${quote(text)} is a pattern, but entries must be plain domains`);
  const invalidCharacter = /[^\p{L}\p{N}\p{M}._-]/u.exec(text.normalize("NFC"))?.[0];
  if (invalidCharacter !== undefined) {
    const hint = /[\s,;]/.test(invalidCharacter) ? " (an entry has only one value)" : "";
    return buildParseFailure(
      `${quote(text)} isn't a valid domain: it contains ${describeCharacter(invalidCharacter)}${hint}`,
    );
  }
  if (/^[.]/.test(text)) return buildParseFailure(`${quote(text)} isn't a valid domain: it starts with a dot`);
  const ascii = domainToASCII(text.normalize("NFC")).replace(/\.$/, "");
  if (ascii === "") return buildParseFailure(`${quote(text)} isn't a valid domain: it has no valid ASCII (IDNA) form`);
  if (ascii.length > 253) return buildParseFailure(`${quote(text)} is longer than 253 characters`);
  const labels = ascii.split(".");
  for (const label of labels) {
    if (label === "") return buildParseFailure(`${quote(text)} isn't a valid domain: it has two consecutive dots`);
    if (label.length > 63)
      return buildParseFailure(`${quote(text)} isn't a valid domain: ${quote(label)} is longer than 63 characters`);
    if (/^-|-$/.test(label))
      return buildParseFailure(`${quote(text)} isn't a valid domain: ${quote(label)} starts or ends with a hyphen`);
    if (!/^[a-z0-9_-]+$/.test(label)) {
      return buildParseFailure(`${quote(text)} isn't a valid domain: ${quote(label)} isn't a valid label`);
    }
  }
  const topLabel = labels.at(-1) ?? "";
  if (/^\d+$/.test(topLabel) || topLabel.includes("_"))
    return buildParseFailure(`${quote(text)} isn't a valid domain: ${quote(topLabel)} isn't a valid top-level domain`);
  if (labels.length === 1) {
    const isTopLevel = parseHost(ascii).isIcann === true;
    const reason = isTopLevel ? "it is a top-level domain, and would cover all domains under it" : "it has no dot";
    return buildParseFailure(`${quote(text)} isn't a full domain: ${reason}`);
  }
  return { ok: true, value: ascii };
}

/** Longer text is another kind of mistake, such as a whole file. No suggestion would help. */
const MAX_EXPLAINED_LENGTH = 4000;

/** Returns the value that the author probably meant, if a common mistake explains the text. */
export function suggestValue(text: string): string | undefined {
  if (text.trim().length > MAX_EXPLAINED_LENGTH) return undefined;
  // Removing a break would join several values into one.
  if (SEPARATOR_CHARACTER.test(text.trim())) return undefined;
  const candidates = new Set<string>();
  const cleaned = text
    .replace(/[\p{Cc}\p{Cf}]/gu, "")
    .trim()
    .replace(/[[({]\s?(?:\.|dot)\s?[\])}]|[。．｡]/giu, ".")
    .replace(/[[({]\s?(?:@|at)\s?[\])}]/giu, "@")
    .replace(/[[({]:(\/\/)?[\])}]/gu, ":$1")
    .replace(/^h(?:tt|xx)p(s?):\/\//i, "http$1://")
    .replace(/^mailto:([^?]*).*$/is, "$1")
    .replace(/[,;]$/, "");
  candidates.add(cleaned);
  candidates.add(/<([^<>]+)>\s*$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^@(.+)$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^\*@(.+)$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^\*?\.(.+)$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^(.*:.*)%/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^([^:]+):\d+$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^\[(.+)\](?::\d+)?$/.exec(cleaned)?.[1] ?? "");
  // A range must not become its first address, and several URLs must not become the first one.
  if (/[/?#]/.test(cleaned) && !/\s/.test(cleaned) && !ADDRESS_RANGE.test(cleaned)) {
    const url = URL.parse(cleaned.includes("://") ? cleaned : `http://${cleaned}`);
    const host = url?.hostname.replace(/^\[(.+)\]$/, "$1") ?? "";
    // A browser reads "010.0.0.1" as 8.0.0.1, but the author may have meant another address.
    if (isIP(host) !== 4 || cleaned.includes(host)) candidates.add(host);
  }
  for (const candidate of candidates) {
    if (candidate !== text && candidate !== "" && parseStrict(candidate).ok) return candidate;
  }
  return undefined;
}

/** Returns a mailbox's domain; returns a domain unchanged. */
export function getMailDomain(value: string): string {
  return value.slice(value.lastIndexOf("@") + 1);
}
