import { domainToUnicode } from "node:url";
import { parse } from "tldts";

/** A domain split into the parts that people read: `mail.acme.co.uk` has `acme.co.uk`, the name `acme` and the suffix `co.uk`. */
export interface DomainName {
  readonly registrableDomain: string;
  /** In ASCII. */
  readonly name: string;
  readonly suffix: string;
  /** The name with look-alike characters replaced by the ASCII letters that they resemble. */
  readonly appearance: string;
  /** Like `appearance`, without hyphens. */
  readonly bareAppearance: string;
}

/** Parses a domain in canonical form. Undefined if it is only a suffix. */
export function parseDomainName(domain: string): DomainName | undefined {
  // Below a suffix such as github.io, every name has a different owner.
  const options = { allowPrivateDomains: true, extractHostname: false, validateHostname: false };
  const { domain: registrable, domainWithoutSuffix: name, publicSuffix: suffix } = parse(domain, options);
  if (!registrable || !name || !suffix) return undefined;
  const appearance = computeAppearance(name);
  return {
    registrableDomain: registrable,
    name,
    suffix,
    appearance,
    bareAppearance: appearance.includes("-") ? appearance.replaceAll("-", "") : appearance,
  };
}

/** The minimum name length for each rule. Short names resemble many others, so fewer rules apply to them. */
const MIN_LENGTHS = { ofAnotherSuffix: 3, withBait: 2, asWord: 4, oneEditAway: 4, oneSubstitutionAway: 5 };

/** Words that phishing domains add to a name. The list is short because a name of four or more letters matches without it. */
const BAIT_WORDS = new Set(
  "account accounts admin auth billing help helpdesk invoice login logon mail my office online pay payment payments payroll portal secure security service services signin sso support team update verify vpn web".split(
    " ",
  ),
);

/**
 * Whether one name can be mistaken for another. The names may have the same or similar letters under any suffix. They may differ by hyphens
 * or by words such as `login`, or by a single typing error.
 */
export function isLookAlike(name: DomainName, ownName: DomainName): boolean {
  if (name.bareAppearance === ownName.bareAppearance) {
    return ownName.bareAppearance.length >= MIN_LENGTHS.ofAnotherSuffix || name.name !== ownName.name;
  }
  return hasAddedWords(name, ownName) || isOneEditAway(name, ownName);
}

function hasAddedWords({ appearance, bareAppearance }: DomainName, ownName: DomainName): boolean {
  if (!bareAppearance.includes(ownName.bareAppearance)) return false;
  const { length } = ownName.bareAppearance;
  if (length >= MIN_LENGTHS.asWord && `-${appearance}-`.includes(`-${ownName.appearance}-`)) return true;
  if (length < MIN_LENGTHS.withBait) return false;
  const isBaited =
    appearance.includes("-") &&
    appearance.split("-").every((word) => word === ownName.bareAppearance || BAIT_WORDS.has(word));
  if (isBaited && appearance.split("-").includes(ownName.bareAppearance)) return true;
  if (length < MIN_LENGTHS.ofAnotherSuffix) return false;
  if (bareAppearance.startsWith(ownName.bareAppearance)) return BAIT_WORDS.has(bareAppearance.slice(length));
  return bareAppearance.endsWith(ownName.bareAppearance) && BAIT_WORDS.has(bareAppearance.slice(0, -length));
}

function isOneEditAway(name: DomainName, ownName: DomainName): boolean {
  const shortest = Math.min(name.bareAppearance.length, ownName.bareAppearance.length);
  if (shortest < MIN_LENGTHS.oneEditAway || Math.abs(name.bareAppearance.length - ownName.bareAppearance.length) > 1)
    return false;
  const isWord =
    name.bareAppearance.length === ownName.bareAppearance.length && shortest < MIN_LENGTHS.oneSubstitutionAway;
  // Many four-letter words differ in one letter, so a different suffix means no suspicion.
  if (isWord && name.suffix !== ownName.suffix) return false;
  return isOneEdit(name.bareAppearance, ownName.bareAppearance);
}

/** Whether one edit turns one text into the other: one character added, removed or changed, or two neighbours swapped. */
export function isOneEdit(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const remainingOne = a.slice(start);
  const remainingOther = b.slice(start);
  if (a.length < b.length) return remainingOne === remainingOther.slice(1);
  if (a.length > b.length) return remainingOne.slice(1) === remainingOther;
  if (remainingOne.slice(1) === remainingOther.slice(1)) return true;
  const swapped = `${remainingOne[1] ?? ""}${remainingOne[0] ?? ""}${remainingOne.slice(2)}`;
  return swapped === remainingOther;
}

function computeAppearance(name: string): string {
  if (!/[01]|rn|vv|^xn--/.test(name)) return name;
  const unicode = name.startsWith("xn--") ? domainToUnicode(name) || name : name;
  let appearance = "";
  for (const character of unicode) appearance += ASCII_BY_CONFUSABLE.get(character) ?? stripAccents(character);
  return appearance.replaceAll("rn", "m").replaceAll("vv", "w");
}

/** Replaces an accented letter such as é with its base letter. */
function stripAccents(character: string): string {
  const letters = character.normalize("NFKD").replace(/\p{M}/gu, "");
  return [...letters].map((letter) => ASCII_BY_CONFUSABLE.get(letter) ?? letter).join("");
}

/**
 * The characters that look like an ASCII letter in common fonts, by that letter. No maintained package contains Unicode's table of
 * confusables (UTS #39). This selection covers characters that a domain can contain and that readers of Latin script easily miss. Accented
 * letters are handled separately.
 */
export const CONFUSABLES: Readonly<Record<string, string>> = {
  a: "аαɑ",
  b: "ьвƅɓ",
  c: "сᴄç",
  d: "ԁđɗð",
  e: "еєεҽɛ",
  f: "ƒ",
  g: "ɡցɢғ",
  h: "һհнħ",
  i: "іıιɩ",
  j: "јʝյ",
  k: "кκĸқ",
  l: "ӏłḷɭ1",
  m: "мᴍ",
  n: "пոηŋɴ",
  o: "оοօσøᴏ0",
  p: "рρþ",
  q: "ԛզ",
  r: "гᴦɼ",
  s: "ѕꜱʂ",
  t: "тτŧƭ",
  u: "υսᴜʋ",
  v: "ѵνᴠ",
  w: "ԝωѡᴡա",
  x: "хχҳ",
  y: "уγүʏ",
  z: "ʐᴢƶ",
};

const ASCII_BY_CONFUSABLE = new Map(
  Object.entries(CONFUSABLES).flatMap(([letter, others]) => [...others].map((other) => [other, letter] as const)),
);
