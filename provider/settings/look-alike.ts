import { domainToUnicode } from "node:url";
import { parse } from "tldts";

/** A domain by the parts that people read: for `mail.acme.co.uk`, `acme.co.uk`, the name `acme` and the suffix `co.uk`. */
export interface DomainName {
  readonly registrable: string;
  /** In ASCII. */
  readonly name: string;
  readonly suffix: string;
  /** The name as it looks: what can be taken for another character is that one. */
  readonly looks: string;
  /** The same without hyphens. */
  readonly shape: string;
}

/** Reads a domain in canonical form; undefined for one that is a suffix only. */
export function readDomainName(domain: string): DomainName | undefined {
  // Below a suffix such as github.io, every name is another owner's.
  const options = { allowPrivateDomains: true, extractHostname: false, validateHostname: false };
  const { domain: registrable, domainWithoutSuffix: name, publicSuffix: suffix } = parse(domain, options);
  if (!registrable || !name || !suffix) return undefined;
  const appearance = computeAppearance(name);
  return {
    registrable,
    name,
    suffix,
    looks: appearance,
    shape: appearance.includes("-") ? appearance.replaceAll("-", "") : appearance,
  };
}

/** The shortest names that are compared by each rule. Short ones are near to many others, so less is read into them. */
const MIN_LENGTHS = { ofAnotherSuffix: 3, withBait: 2, asWord: 4, oneEditAway: 4, oneSubstitutionAway: 5 };

/** What phishing puts beside a name. Not all that could be: names of four letters and more need none of it. */
const BAIT_WORDS = new Set(
  "account accounts admin auth billing help helpdesk invoice login logon mail my office online pay payment payments payroll portal secure security service services signin sso support team update verify vpn web".split(
    " ",
  ),
);

/**
 * Whether one name can be taken for another: the same letters, or such as look like them, under any suffix; with hyphens
 * or words such as `login` added; or one slip of the keyboard away.
 */
export function isLookAlike(one: DomainName, ownName: DomainName): boolean {
  if (one.shape === ownName.shape) {
    return ownName.shape.length >= MIN_LENGTHS.ofAnotherSuffix || one.name !== ownName.name;
  }
  return hasAddedWords(one, ownName) || isOneEditAway(one, ownName);
}

function hasAddedWords({ looks, shape }: DomainName, ownName: DomainName): boolean {
  if (!shape.includes(ownName.shape)) return false;
  const { length } = ownName.shape;
  if (length >= MIN_LENGTHS.asWord && `-${looks}-`.includes(`-${ownName.looks}-`)) return true;
  if (length < MIN_LENGTHS.withBait) return false;
  const isBaited =
    looks.includes("-") && looks.split("-").every((word) => word === ownName.shape || BAIT_WORDS.has(word));
  if (isBaited && looks.split("-").includes(ownName.shape)) return true;
  if (length < MIN_LENGTHS.ofAnotherSuffix) return false;
  if (shape.startsWith(ownName.shape)) return BAIT_WORDS.has(shape.slice(length));
  return shape.endsWith(ownName.shape) && BAIT_WORDS.has(shape.slice(0, -length));
}

function isOneEditAway(one: DomainName, ownName: DomainName): boolean {
  const shortest = Math.min(one.shape.length, ownName.shape.length);
  if (shortest < MIN_LENGTHS.oneEditAway || Math.abs(one.shape.length - ownName.shape.length) > 1)
    return false;
  const isWord = one.shape.length === ownName.shape.length && shortest < MIN_LENGTHS.oneSubstitutionAway;
  // There are many words of four letters that differ in one: under another suffix they are no reason for suspicion.
  if (isWord && one.suffix !== ownName.suffix) return false;
  return isOneEdit(one.shape, ownName.shape);
}

/** Whether one text becomes the other by one character more, less or changed, or by two that change places. */
export function isOneEdit(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  const remainingOne = one.slice(start);
  const remainingOther = other.slice(start);
  if (one.length < other.length) return remainingOne === remainingOther.slice(1);
  if (one.length > other.length) return remainingOne.slice(1) === remainingOther;
  if (remainingOne.slice(1) === remainingOther.slice(1)) return true;
  const swapped = `${remainingOne[1] ?? ""}${remainingOne[0] ?? ""}${remainingOne.slice(2)}`;
  return swapped === remainingOther;
}

function computeAppearance(name: string): string {
  if (!/[01]|rn|vv|^xn--/.test(name)) return name;
  const unicode = name.startsWith("xn--") ? domainToUnicode(name) || name : name;
  let appearance = "";
  for (const character of unicode)
    appearance += ASCII_BY_CONFUSABLE.get(character) ?? stripAccents(character);
  return appearance.replaceAll("rn", "m").replaceAll("vv", "w");
}

/** A letter such as é, as the letter that it is written over. */
function stripAccents(character: string): string {
  const letters = character.normalize("NFKD").replace(/\p{M}/gu, "");
  return [...letters].map((letter) => ASCII_BY_CONFUSABLE.get(letter) ?? letter).join("");
}

/**
 * The letters that look like an ASCII letter in common fonts, by that letter. Unicode's own table of confusables (UTS #39)
 * is in no package that is kept up; of its thousands, these are the ones that can stand in a domain and that a reader of
 * Latin would not notice at once. Letters with an accent need no place here.
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
  Object.entries(CONFUSABLES).flatMap(([letter, others]) => [...others].map((one) => [one, letter] as const)),
);
