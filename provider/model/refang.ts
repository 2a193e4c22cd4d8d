import { isIP } from "node:net";
import { parse as parseHost } from "tldts";
import { type EntryValue, type ParseResult, parseEntryValue, suggestValue } from "./entry-value";
import { quote } from "./text";

export interface RefangedValue extends EntryValue {
  readonly originalText: string;
  /** Whether parsing changed more than white space and case: for example, it removed a URL's path or the brackets around a dot. */
  readonly isCorrected: boolean;
}

/**
 * Parses a domain, an IP address or a mailbox in the forms that people use to share dangerous indicators. Examples:
 * `hxxps://evil[.]example/path`, `evil(.)example`, `user[@]evil[.]example`, `"Name" <user@evil.example>`, a URL with a port.
 *
 * Rejects ambiguous text with the reason: a range of addresses, a mailbox followed by a path, a URL without https:// that has an @ in its
 * path.
 */
export function refang(input: string): ParseResult<RefangedValue> {
  const text = input.trim();
  const exact = parseEntryValue(text);
  if (exact.ok && exact.value.entryType === "email_address" && startsLikeUrl(text)) {
    const reason = `${quote(text)} could be a URL or a mailbox; add https:// before a URL, or write only its domain`;
    return { ok: false, reason };
  }
  if (exact.ok) return { ok: true, value: { ...exact.value, originalText: input, isCorrected: false } };
  const suggestion = suggestValue(text);
  if (suggestion === undefined) return exact;
  const parsed = parseEntryValue(suggestion);
  // A single mailbox must not turn into its whole domain.
  if (!parsed.ok || (parsed.value.entryType !== "email_address" && hasMailboxPart(text))) return exact;
  return { ok: true, value: { ...parsed.value, originalText: input, isCorrected: true } };
}

/** Whether the text has a local part before an @. User names in URLs don't count, because they are there to deceive. */
function hasMailboxPart(text: string): boolean {
  if (/^[^\s/]{1,20}:\/\//.test(text)) return false;
  return /[^\s*][[({]?\s?(?:@|\bat\b)/i.test(text);
}

/** Whether the text starts with a host and a path, as in `video.com/@channel.name`. Such text could also be a mailbox. */
function startsLikeUrl(text: string): boolean {
  const host = /^([^/?#@]+)[/?#]/.exec(text)?.[1] ?? "";
  if (isIP(host) !== 0) return true;
  const { isIcann, domain } = parseHost(host);
  return isIcann === true && domain !== null;
}
