import { domainToASCII } from "node:url";
import { parseAddressRange, parseSingleAddress } from "./address-range";
import { LISTS, type List } from "./assumptions";
import { canonicalValue, type Parsed } from "./entry-value";
import { quote } from "./text";

/** What a pattern is held against: a value in canonical form, and the list it stands on where there are two. */
export interface PatternTarget {
  readonly value: string;
  readonly list?: List;
}

/** A pattern that was read. */
export interface Pattern {
  /** As it was written. */
  readonly text: string;
  readonly matches: (target: PatternTarget) => boolean;
}

/**
 * Reads a pattern: a value (`partner.example`), a value with `*` for any characters (`*.partner.example`,
 * `*@board.example`), or a range of IP addresses (`192.0.2.0/24`); each may be held to one list (`allow:*`). Compared
 * in canonical form, without case.
 */
export function parsePattern(text: string): Parsed<Pattern> {
  if (text.trim() === "" || text !== text.trim()) {
    const reason = text.trim() === "" ? "is empty" : `${quote(text)} has white space around it`;
    return { ok: false, reason: `${reason}; write a value, a value with *, or a range such as 192.0.2.0/24` };
  }
  const [, list, rest = text] = /^(allow|deny):(.*)$/is.exec(text) ?? [];
  const heldTo = LISTS.find((one) => one === list?.toLowerCase());
  if (rest === "") return { ok: false, reason: `${quote(text)} names no value; write ${quote(`${text}*`)}` };
  const matchesRange = rest.includes("/") ? rangeOf(rest) : undefined;
  if (rest.includes("/") && matchesRange === undefined) {
    return { ok: false, reason: `${quote(text)} is no range of IP addresses; write it as 192.0.2.0/24` };
  }
  const matchesValue = matchesRange ?? globOf(rest);
  const matches = (target: PatternTarget): boolean =>
    (heldTo === undefined || target.list === undefined || target.list === heldTo) &&
    matchesValue(target.value);
  return { ok: true, value: { text, matches } };
}

type MatchesValue = (value: string) => boolean;

/** Undefined where the text is neither a range of addresses nor a prefix of one address. */
function rangeOf(text: string): MatchesValue | undefined {
  const single = parseSingleAddress(text);
  if (single !== undefined) return (value) => value === single;
  const range = parseAddressRange(text);
  if (range === undefined) return undefined;
  return (value) => {
    if (range.includes(value)) return true;
    // No entry that is declared is a range; the service may hold one all the same.
    const held = /[/-]/.test(value) ? parseAddressRange(value) : undefined;
    return held?.width === range.width && range.first <= held.first && held.last <= range.last;
  };
}

function globOf(text: string): MatchesValue {
  if (!text.includes("*")) {
    const wanted = canonicalValue(text);
    return (value) => value === wanted;
  }
  const [start = "", ...pieces] = inAscii(text.toLowerCase()).split("*");
  const end = pieces.pop() ?? "";
  return (value) => {
    if (value.length < start.length + end.length) return false;
    if (!value.startsWith(start) || !value.endsWith(end)) return false;
    // The first place for each piece leaves the most room for the next, so no other need be tried.
    let at = start.length;
    const until = value.length - end.length;
    for (const piece of pieces) {
      const found = value.indexOf(piece, at);
      if (found < 0 || found + piece.length > until) return false;
      at = found + piece.length;
    }
    return true;
  };
}

/** The labels of the domain in their ASCII form, as values are; those with a * are left as they are. */
function inAscii(text: string): string {
  const at = text.lastIndexOf("@");
  const labels = text.slice(at + 1).split(".");
  // A number alone would become an IPv4 address: "192" is 0.0.0.192 to URLs.
  const isOther = (label: string): boolean => !label.includes("*") && /[^ -~]/.test(label);
  const ascii = labels.map((label) => (isOther(label) ? domainToASCII(label) || label : label));
  return text.slice(0, at + 1) + ascii.join(".");
}
