import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import ipaddr from "ipaddr.js";
import { parse as parseHost } from "tldts";
import type { EntryType } from "./assumptions";
import { quote } from "./text";

/** A value that can stand on the allow/deny list: what it is, and the form in which it is compared. */
export interface EntryValue {
  readonly entryType: EntryType;
  /** Lower case, ASCII (punycode) domains without a trailing dot, RFC 5952 IPv6 text. */
  readonly canonical: string;
}

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads a domain, an IP address or a mailbox as a person wrote it.
 *
 * A value that is none of these is refused with the reason, and with how to write it right where that can be told:
 * a URL, a defanged indicator (`evil[.]example`), a wildcard, a display name, white space around.
 */
export function parseEntryValue(text: string): Parsed<EntryValue> {
  const parsed = parseExactly(text);
  if (parsed.ok) return parsed;
  const suggestion = suggest(text);
  return suggestion === undefined ? parsed : refuse(`${parsed.reason}; write ${quote(suggestion)}`);
}

/** Reads a mailbox address (`local@domain`) to its canonical form, or says what is wrong with it. */
export function parseMailbox(text: string): Parsed<string> {
  const parsed = parseMailboxExactly(text);
  if (parsed.ok) return parsed;
  const suggestion = suggest(text);
  const useful = suggestion !== undefined && parseMailboxExactly(suggestion).ok;
  return useful ? refuse(`${parsed.reason}; write ${quote(suggestion)}`) : parsed;
}

/**
 * The form in which a value is compared with another of its type. Never fails: a value that the service echoes and
 * that can't be read is compared in lower case.
 */
export function canonicalValue(value: string): string {
  const parsed = parseExactly(value.trim());
  return parsed.ok ? parsed.value.canonical : value.trim().toLowerCase();
}

/** The form in which mailboxes are compared. Never fails. */
export function canonicalMailbox(email: string): string {
  const parsed = parseMailboxExactly(email.trim());
  return parsed.ok ? parsed.value : email.trim().toLowerCase();
}

/** What two entries about the same thing share: type and canonical value. */
export function naturalKey(entryType: string, value: string): string {
  return `${entryType}:${canonicalValue(value)}`;
}

/** What makes an entry one of its own beside its id: a service may hold one value once per list and scope. */
export function entryKey(entry: {
  readonly list: string;
  readonly entryType: string;
  readonly value: string;
  readonly verdictScope: string;
}): string {
  return `${entry.list}:${entry.verdictScope}:${naturalKey(entry.entryType, entry.value)}`;
}

function refuse(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}

function parseExactly(text: string): Parsed<EntryValue> {
  if (text.trim() === "") return refuse("is empty; write a domain, an IP address or a mailbox");
  const oddities = surroundings(text);
  if (oddities !== undefined) return refuse(oddities);
  if (text.includes("://"))
    return refuse(`${quote(text)} is a URL, not a domain, an IP address or a mailbox`);
  if (text.includes("@")) {
    const mailbox = parseMailboxExactly(text);
    return mailbox.ok
      ? { ok: true, value: { entryType: "email_address", canonical: mailbox.value } }
      : mailbox;
  }
  if (looksLikeAddress(text)) return parseAddress(text);
  const domain = parseDomain(text);
  return domain.ok ? { ok: true, value: { entryType: "domain", canonical: domain.value } } : domain;
}

function surroundings(text: string): string | undefined {
  if (text !== text.trim()) return `${quote(text)} has white space around it`;
  if (/[\p{Cc}\p{Cf}]/u.test(text)) return `${quote(text)} holds an invisible character`;
  return undefined;
}

function looksLikeAddress(text: string): boolean {
  return /^[\d.]+(\/\d+)?$/.test(text) || /^[\da-f:.]*:[\da-f:.]*(%\w+)?(\/\d+)?$/i.test(text);
}

function parseAddress(text: string): Parsed<EntryValue> {
  if (text.includes("/")) {
    return refuse(`${quote(text)} is a range of addresses; the service's list holds single addresses`);
  }
  // ipaddr.js reads "010.0.0.1" as octal and isIP accepts a zone: each guards the other.
  if (isIP(text) === 0 || text.includes("%")) {
    const octal = /(^|\.)0\d/.test(text) ? " (leading zeros are read as octal by some software)" : "";
    return refuse(`${quote(text)} is not an IP address${octal}`);
  }
  const address = ipaddr.parse(text);
  const canonical = address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
  return { ok: true, value: { entryType: "ip", canonical } };
}

function parseMailboxExactly(text: string): Parsed<string> {
  const oddities = surroundings(text);
  if (oddities !== undefined) return refuse(oddities);
  const at = text.lastIndexOf("@");
  if (at < 0) return refuse(`${quote(text)} is not a mailbox: it has no @`);
  const local = text.slice(0, at).normalize("NFC");
  if (local === "") return refuse(`${quote(text)} has nothing before its @`);
  if (/[\s<>()[\]\\,;:"@]/.test(local) || /^\.|\.$|\.\./.test(local)) {
    return refuse(`${quote(text)} is not a mailbox: ${quote(local)} can't stand before its @`);
  }
  if (Buffer.byteLength(local) > 64) return refuse(`${quote(text)} has more than 64 bytes before its @`);
  const domain = parseDomain(text.slice(at + 1));
  if (!domain.ok) return refuse(`${quote(text)} is not a mailbox: ${domain.reason}`);
  return { ok: true, value: `${local.toLowerCase()}@${domain.value}` };
}

function parseDomain(text: string): Parsed<string> {
  if (text === "") return refuse("the domain is empty");
  if (text.startsWith("*"))
    return refuse(`${quote(text)} is a pattern; the service's list holds plain domains`);
  const odd = /[^\p{L}\p{N}\p{M}._-]/u.exec(text.normalize("NFC"))?.[0];
  if (odd !== undefined) return refuse(`${quote(text)} is not a domain: ${quote(odd)} can't stand in one`);
  const ascii = domainToASCII(text.normalize("NFC")).replace(/\.$/, "");
  if (ascii === "") return refuse(`${quote(text)} is not a domain: it has no valid ASCII (IDNA) form`);
  if (ascii.length > 253) return refuse(`${quote(text)} is longer than 253 characters`);
  const labels = ascii.split(".");
  for (const label of labels) {
    if (label === "")
      return refuse(`${quote(text)} is not a domain: two dots follow each other, or it starts with one`);
    if (label.length > 63)
      return refuse(`${quote(text)} is not a domain: ${quote(label)} is longer than 63 characters`);
    if (!/^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/.test(label)) {
      return refuse(`${quote(text)} is not a domain: ${quote(label)} can't stand between its dots`);
    }
  }
  const top = labels.at(-1) ?? "";
  if (/^\d+$/.test(top) || top.includes("_"))
    return refuse(`${quote(text)} is not a domain: it ends in ${quote(top)}`);
  if (labels.length === 1 && parseHost(ascii).isIcann !== true) {
    return refuse(`${quote(text)} is not a whole domain: it has no dot`);
  }
  return { ok: true, value: ascii };
}

/** The value that was probably meant, if a well-known slip explains what was written. */
function suggest(text: string): string | undefined {
  const candidates = new Set<string>();
  const cleaned = text
    .replace(/[\p{Cc}\p{Cf}]/gu, "")
    .trim()
    .replace(/\[\.\]|\(\.\)|\[dot\]/gi, ".")
    .replace(/\[@\]|\[at\]/gi, "@")
    .replace(/^h(?:tt|xx)p(s?):\/\//i, "http$1://")
    .replace(/^mailto:/i, "");
  candidates.add(cleaned);
  candidates.add(/<([^<>]+)>\s*$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^@(.+)$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^\*@(.+)$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^\*?\.(.+)$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^(.+)\/(?:32|128)$/.exec(cleaned)?.[1] ?? "");
  candidates.add(/^\[(.+)\]$/.exec(cleaned)?.[1] ?? "");
  if (cleaned.includes("/")) {
    const url = URL.parse(cleaned.includes("://") ? cleaned : `http://${cleaned}`);
    if (url !== null && !/^[\d.:[\]]+\/\d+$/.test(cleaned)) {
      candidates.add(url.hostname.replace(/^\[(.+)\]$/, "$1"));
    }
  }
  for (const candidate of candidates) {
    if (candidate !== text && candidate !== "" && parseExactly(candidate).ok) return candidate;
  }
  return undefined;
}
