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
  const looks = looksOf(name);
  return { registrable, name, suffix, looks, shape: looks.includes("-") ? looks.replaceAll("-", "") : looks };
}

/** The shortest names that are compared by each rule. Short ones are near to many others, so less is read into them. */
const SHORTEST = { ofAnotherSuffix: 3, withBait: 2, asWord: 4, oneEditAway: 4, oneSubstitutionAway: 5 };

/** What phishing puts beside a name. Not all that could be: names of four letters and more need none of it. */
const BAIT = new Set(
  "account accounts admin auth billing help helpdesk invoice login logon mail my office online pay payment payments payroll portal secure security service services signin sso support team update verify vpn web".split(
    " ",
  ),
);

/**
 * Whether one name can be taken for another: the same letters, or such as look like them, under any suffix; with hyphens
 * or words such as `login` added; or one slip of the keyboard away.
 */
export function isLookAlike(one: DomainName, own: DomainName): boolean {
  if (one.shape === own.shape) {
    return own.shape.length >= SHORTEST.ofAnotherSuffix || one.name !== own.name;
  }
  return hasAdded(one, own) || isOneEditAway(one, own);
}

function hasAdded({ looks, shape }: DomainName, own: DomainName): boolean {
  if (!shape.includes(own.shape)) return false;
  const { length } = own.shape;
  if (length >= SHORTEST.asWord && `-${looks}-`.includes(`-${own.looks}-`)) return true;
  if (length < SHORTEST.withBait) return false;
  const isBaited =
    looks.includes("-") && looks.split("-").every((word) => word === own.shape || BAIT.has(word));
  if (isBaited && looks.split("-").includes(own.shape)) return true;
  if (length < SHORTEST.ofAnotherSuffix) return false;
  if (shape.startsWith(own.shape)) return BAIT.has(shape.slice(length));
  return shape.endsWith(own.shape) && BAIT.has(shape.slice(0, -length));
}

function isOneEditAway(one: DomainName, own: DomainName): boolean {
  const shortest = Math.min(one.shape.length, own.shape.length);
  if (shortest < SHORTEST.oneEditAway || Math.abs(one.shape.length - own.shape.length) > 1) return false;
  const isWord = one.shape.length === own.shape.length && shortest < SHORTEST.oneSubstitutionAway;
  // There are many words of four letters that differ in one: under another suffix they are no reason for suspicion.
  if (isWord && one.suffix !== own.suffix) return false;
  return isOneEdit(one.shape, own.shape);
}

/** Whether one text becomes the other by one character more, less or changed, or by two that change places. */
export function isOneEdit(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  const restOfOne = one.slice(start);
  const restOfOther = other.slice(start);
  if (one.length < other.length) return restOfOne === restOfOther.slice(1);
  if (one.length > other.length) return restOfOne.slice(1) === restOfOther;
  if (restOfOne.slice(1) === restOfOther.slice(1)) return true;
  const swapped = `${restOfOne[1] ?? ""}${restOfOne[0] ?? ""}${restOfOne.slice(2)}`;
  return swapped === restOfOther;
}

function looksOf(name: string): string {
  if (!/[01]|rn|vv|^xn--/.test(name)) return name;
  const unicode = name.startsWith("xn--") ? domainToUnicode(name) || name : name;
  let looks = "";
  for (const character of unicode) looks += ASCII_OF.get(character) ?? withoutAccents(character);
  return looks.replaceAll("rn", "m").replaceAll("vv", "w");
}

/** A letter such as é, as the letter that it is written over. */
function withoutAccents(character: string): string {
  const letters = character.normalize("NFKD").replace(/\p{M}/gu, "");
  return [...letters].map((letter) => ASCII_OF.get(letter) ?? letter).join("");
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

const ASCII_OF = new Map(
  Object.entries(CONFUSABLES).flatMap(([letter, others]) => [...others].map((one) => [one, letter] as const)),
);
