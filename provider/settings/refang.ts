import { isIP } from "node:net";
import { parse as parseHost } from "tldts";
import { type EntryValue, type Parsed, parseEntryValue, probableValue } from "./entry-value";
import { quote } from "./text";

/** A value as somebody passed it on, and what it was read as. */
export interface Refanged extends EntryValue {
  /** As it came. */
  readonly written: string;
  /** Whether something was taken off or put right beyond white space and case: a URL's path, brackets around a dot. */
  readonly isMended: boolean;
}

/**
 * Reads a domain, an IP address or a mailbox in the forms in which people pass on what is dangerous: `hxxps://evil[.]example/path`,
 * `evil(.)example`, `user[@]evil[.]example`, `"Name" <user@evil.example>`, a URL with a port. What could as well be meant otherwise is
 * refused with the reason: a range of addresses, a mailbox with a path behind it, a URL without https:// that has an @ in its path.
 */
export function refang(input: string): Parsed<Refanged> {
  const text = input.trim();
  const exact = parseEntryValue(text);
  if (exact.ok && exact.value.entryType === "email_address" && startsLikeUrl(text)) {
    const reason = `${quote(text)} may be a URL or a mailbox; write https:// before a URL, or its domain alone`;
    return { ok: false, reason };
  }
  if (exact.ok) return { ok: true, value: { ...exact.value, written: input, isMended: false } };
  const suggestion = probableValue(text);
  if (suggestion === undefined) return exact;
  const parsed = parseEntryValue(suggestion);
  // Of one mailbox there must not come all of its domain.
  if (!parsed.ok || (parsed.value.entryType !== "email_address" && hasMailboxPart(text))) return exact;
  return { ok: true, value: { ...parsed.value, written: input, isMended: true } };
}

/** Whether a person stands before the @, and it is not the name in a URL, which is there to deceive. */
function hasMailboxPart(text: string): boolean {
  if (/^[^\s/]{1,20}:\/\//.test(text)) return false;
  return /[^\s*][[({]?\s?(?:@|\bat\b)/i.test(text);
}

/** Whether a host stands before a path, as in `video.com/@channel.name`, which could be a mailbox too. */
function startsLikeUrl(text: string): boolean {
  const host = /^([^/?#@]+)[/?#]/.exec(text)?.[1] ?? "";
  if (isIP(host) !== 0) return true;
  const { isIcann, domain } = parseHost(host);
  return isIcann === true && domain !== null;
}
