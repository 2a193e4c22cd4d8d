import { domainToASCII } from "node:url";
import { parseAddressRange, parseSingleAddress } from "./address-range";
import { ENTRY_LISTS, type List } from "./assumptions";
import { canonicalizeValue, type Parsed } from "./entry-value";
import { quote } from "./text";

/** The item that a pattern is matched against: a canonical value, and its list if the resource has two lists. */
export interface PatternTarget {
  readonly value: string;
  readonly list?: List;
}

export interface Pattern {
  /** The pattern as written. */
  readonly text: string;
  readonly matches: (target: PatternTarget) => boolean;
}

/**
 * Parses a pattern: a value (`partner.example`), a value with `*` for any characters (`*.partner.example`, `*@board.example`), or a range
 * of IP addresses (`192.0.2.0/24`). A prefix limits a pattern to one list (`allow:*`). Patterns match canonical forms and ignore case.
 */
export function parseListPattern(text: string): Parsed<Pattern> {
  if (text.trim() === "" || text !== text.trim()) {
    const reason = text.trim() === "" ? "is empty" : `${quote(text)} has leading or trailing white space`;
    return { ok: false, reason: `${reason}; write a value, a value with *, or a range such as 192.0.2.0/24` };
  }
  const [, list, valueText = text] = /^(allow|deny):(.*)$/is.exec(text) ?? [];
  const restrictedList = ENTRY_LISTS.find((candidate) => candidate === list?.toLowerCase());
  if (valueText === "") return { ok: false, reason: `${quote(text)} has no value; write ${quote(`${text}*`)}` };
  const matchesRange = valueText.includes("/") ? createRangeMatcher(valueText) : undefined;
  if (valueText.includes("/") && matchesRange === undefined) {
    return { ok: false, reason: `${quote(text)} isn't a range of IP addresses; write a range such as 192.0.2.0/24` };
  }
  const matchesValue = matchesRange ?? createValueGlob(valueText);
  const matches = (target: PatternTarget): boolean =>
    (restrictedList === undefined || target.list === undefined || target.list === restrictedList) &&
    matchesValue(target.value);
  return { ok: true, value: { text, matches } };
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

function createValueGlob(text: string): ValueMatcher {
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
