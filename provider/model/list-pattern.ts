import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { parseAddressRange, parseSingleAddress } from "./address-range";
import { ENTRY_LISTS, type List } from "./assumptions";
import { canonicalizeValue, type ParseResult } from "./entry-value";
import { quote } from "./text";

/** The item that a pattern is matched against: a canonical value, and its list if the resource has two lists. */
export interface PatternTarget {
  readonly value: string;
  readonly list?: List;
}

export interface Pattern {
  readonly text: string;
  readonly matches: (target: PatternTarget) => boolean;
}

/**
 * Parses a pattern: a value (`partner.example`), a value with `*` for any characters (`*.partner.example`, `*@board.example`), or a range
 * of IP addresses (`192.0.2.0/24`, `192.0.2.1-192.0.2.9`). A prefix limits a pattern to one list (`allow:*`). Patterns match canonical forms
 * and ignore case. A pattern that can't match is rejected, because it would silently protect nothing.
 */
export function parseListPattern(text: string): ParseResult<Pattern> {
  if (text.trim() === "" || text !== text.trim()) {
    const reason = text.trim() === "" ? "is empty" : `${quote(text)} has leading or trailing white space`;
    return { ok: false, reason: `${reason}; write a value, a value with *, or a range such as 192.0.2.0/24` };
  }
  const [, list, valueText = text] = /^(allow|deny):(.*)$/is.exec(text) ?? [];
  const restrictedList = ENTRY_LISTS.find((candidate) => candidate === list?.toLowerCase());
  if (valueText === "") return { ok: false, reason: `${quote(text)} has no value; write ${quote(`${text}*`)}` };
  const unmatchable = getUnmatchableReason(valueText, text.slice(0, -valueText.length));
  if (unmatchable !== undefined) return { ok: false, reason: `${quote(text)} ${unmatchable}` };
  const matchesRange = /[/-]/.test(valueText) ? createRangeMatcher(valueText) : undefined;
  if (isRangeNotation(valueText) && matchesRange === undefined) {
    return { ok: false, reason: `${quote(text)} isn't a range of IP addresses; write a range such as 192.0.2.0/24` };
  }
  const matchesValue = matchesRange ?? createValueGlob(valueText);
  const matches = (target: PatternTarget): boolean =>
    (restrictedList === undefined || target.list === undefined || target.list === restrictedList) &&
    matchesValue(target.value);
  return { ok: true, value: { text, matches } };
}

/**
 * Explains why a pattern matches no canonical form. Undefined if it may match.
 *
 * @param prefix the list prefix, such as `allow:`.
 */
function getUnmatchableReason(text: string, prefix: string): string | undefined {
  const canonical = /^[.@]/.test(text) ? canonicalizeValue(text) : text;
  // The service's `.wild.example` is `*.wild.example` in canonical form.
  if (canonical !== text && canonical.startsWith("*")) return `isn't a pattern; write ${quote(prefix + canonical)}`;
  return isNonCanonicalIPv6Wildcard(text)
    ? "isn't in the canonical form of addresses; write a range such as 2001:db8::/32"
    : undefined;
}

/**
 * RFC 5952 text has no dot and no leading zero. Without a `::`, a run of zero groups is almost always a mistake. Next to a
 * `::`, a run that is no longer stays: `2001:db8::1:0:0:1`.
 */
function isNonCanonicalIPv6Wildcard(text: string): boolean {
  const isIPv6Wildcard = /^[\da-f:.*]+$/i.test(text) && text.includes(":") && text.includes("*");
  if (!isIPv6Wildcard) return false;
  return /\.|(?:^|:)0[\da-f]/i.test(text) || (!text.includes("::") && /(?:^|:)0:0(?::|$)/.test(text));
}

/** Returns whether a text looks like an address range: it has a slash, or an address before a hyphen. */
function isRangeNotation(text: string): boolean {
  const [start = ""] = text.split("-", 1);
  return text.includes("/") || (text.includes("-") && !text.includes("*") && isIP(start.trim()) !== 0);
}

type ValueMatcher = (value: string) => boolean;

/** Undefined if the text is neither a range of addresses nor a prefix of one address. */
function createRangeMatcher(text: string): ValueMatcher | undefined {
  const singleAddress = parseSingleAddress(text);
  if (singleAddress !== undefined) return (value) => value === singleAddress;
  const range = parseAddressRange(text);
  if (range === undefined) return undefined;
  return (value) => {
    if (range.includes(value)) return true;
    // Declared entries are never ranges, but the service may hold ranges.
    const entryRange = /[/-]/.test(value) ? parseAddressRange(value) : undefined;
    return entryRange?.width === range.width && range.first <= entryRange.first && entryRange.last <= range.last;
  };
}

/** Returns a predicate for canonical values that match a text in which each `*` stands for any characters. */
export function createValueGlob(text: string): ValueMatcher {
  if (!text.includes("*")) {
    const canonical = canonicalizeValue(text);
    return (value) => value === canonical;
  }
  const [start = "", ...pieces] = toAscii(text.toLowerCase()).split("*");
  const end = pieces.pop() ?? "";
  return (value) => {
    if (value.length < start.length + end.length) return false;
    if (!value.startsWith(start) || !value.endsWith(end)) return false;
    // The earliest match of each piece leaves the most room for the next, so no backtracking is needed.
    let position = start.length;
    const endPosition = value.length - end.length;
    for (const piece of pieces) {
      const pieceStart = value.indexOf(piece, position);
      if (pieceStart < 0 || pieceStart + piece.length > endPosition) return false;
      position = pieceStart + piece.length;
    }
    return true;
  };
}

/** Converts the labels of the domain to ASCII, like values. Labels that contain * stay unchanged. */
function toAscii(text: string): string {
  const atSign = text.lastIndexOf("@");
  const labels = text.slice(atSign + 1).split(".");
  // Skips ASCII labels, because URLs convert a bare number to an IPv4 address: "192" becomes 0.0.0.192.
  const isNonAscii = (label: string): boolean => !label.includes("*") && /[^ -~]/.test(label);
  const ascii = labels.map((label) => (isNonAscii(label) ? domainToASCII(label) || label : label));
  return text.slice(0, atSign + 1) + ascii.join(".");
}
