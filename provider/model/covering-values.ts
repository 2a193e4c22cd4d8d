import { parseAddressNumber, parseAddressRange } from "./address-range";
import { DEFAULT_VERDICT_SCOPE } from "./assumptions";
import { getMailDomain } from "./entry-value";
import { createValueGlob } from "./list-pattern";

/**
 * Lists the canonical values whose entries cover a domain or a mailbox, the most specific first. These are the wildcards and domains above
 * it; for a mailbox, also its own domain. It is an assumption that a domain's entry covers its subdomains (docs/reference/assumptions.md).
 * `*.wild.example` covers the subdomains of `wild.example`, but not the domain itself; `*` covers everything.
 *
 * @param value in canonical form. An IP address has no covering values.
 */
export function listCoveringValues(value: string): string[] {
  const atSign = value.lastIndexOf("@");
  if (atSign < 0 && (value.includes(":") || /^[\d.]+$/.test(value))) return [];
  const domain = value.slice(atSign + 1);
  const covering = atSign < 0 ? [] : [`*@${domain}`, domain];
  for (let dot = domain.indexOf("."); dot >= 0; dot = domain.indexOf(".", dot + 1)) {
    const parent = domain.slice(dot + 1);
    if (atSign >= 0) covering.push(`*@*.${parent}`);
    covering.push(`*.${parent}`, parent);
  }
  if (atSign >= 0) covering.push("*@*");
  covering.push("*");
  return covering.filter((candidate) => candidate !== value);
}

/** Whether a canonical value is a wildcard: `*.wild.example`, `*@wild.example`, `mail*.wild.example`. */
export function isWildcard(value: string): boolean {
  return value.includes("*");
}

/** The scope of a wildcard in canonical form. */
export interface WildcardScope {
  /** Empty if the wildcard covers all domains. */
  readonly domain: string;
  /** Whether the wildcard covers the domain itself (`*@wild.example`) instead of its subdomains. */
  readonly isDomainCovered: boolean;
}

/**
 * Parses a wildcard for all subdomains or mailboxes of a domain. Undefined if the value isn't one.
 *
 * @param value in canonical form.
 */
export function parseWildcard(value: string): WildcardScope | undefined {
  const [, subdomainPrefix, domain = ""] = /^(?:\*@)?(\*(?:\.|$))?(.*)$/s.exec(value) ?? [];
  if (!isWildcard(value) || domain.includes("*")) return undefined;
  return { domain, isDomainCovered: subdomainPrefix === undefined };
}

interface NumberedRange {
  readonly value: string;
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Finds the values that an entry covers. Values are indexed by their covering values and sorted by address. Each entry therefore costs one
 * map lookup or one binary search. Only a wildcard inside a label (`mail*.wild.example`) is compared with every value.
 */
export class CoverageIndex {
  readonly #byCovering = new Map<string, string[]>();
  readonly #values: string[] = [];
  /** Keyed by width in bits, sorted by first address in ascending order. */
  readonly #addresses: ReadonlyMap<number, readonly NumberedRange[]>;

  /** @param values in canonical form. */
  constructor(values: Iterable<string>) {
    const addresses = new Map<number, NumberedRange[]>();
    for (const value of values) {
      this.#values.push(value);
      const address = parseAddressNumber(value);
      const range =
        address === undefined
          ? isRangeLike(value) && parseAddressRange(value)
          : { ...address, first: address.value, last: address.value };
      if (range) {
        const { width, first, last } = range;
        const sameWidth = addresses.get(width) ?? [];
        addresses.set(width, sameWidth);
        sameWidth.push({ value, first, last });
        continue;
      }
      for (const coveringValue of listCoveringValues(value)) {
        const covered = this.#byCovering.get(coveringValue);
        if (covered === undefined) this.#byCovering.set(coveringValue, [value]);
        else covered.push(value);
      }
    }
    for (const ranges of addresses.values()) {
      ranges.sort((a, b) => (a.first < b.first ? -1 : Number(a.first > b.first)));
    }
    this.#addresses = addresses;
  }

  /**
   * Returns the values that an entry covers, other than its own.
   *
   * @param entryValue in canonical form.
   */
  findCovered(entryValue: string): readonly string[] {
    const covered = this.#byCovering.get(entryValue);
    if (covered !== undefined) return covered;
    if (isWildcard(entryValue))
      return parseWildcard(entryValue) === undefined ? this.#findMatching(entryValue) : NO_VALUES;
    if (this.#addresses.size === 0 || !isRangeLike(entryValue)) return NO_VALUES;
    const range = parseAddressRange(entryValue);
    const sorted = range === undefined ? undefined : this.#addresses.get(range.width);
    if (range === undefined || sorted === undefined) return NO_VALUES;
    const from = countBelow(sorted, range.first);
    return sorted
      .slice(from, countBelow(sorted, range.last + 1n))
      .filter(({ value, last }) => last <= range.last && value !== entryValue)
      .map(({ value }) => value);
  }

  #findMatching(wildcard: string): readonly string[] {
    const matches = createValueGlob(wildcard);
    // A domain's entry covers its mailboxes.
    const isDomain = !wildcard.includes("@");
    return this.#values.filter((value) => value !== wildcard && matches(isDomain ? getMailDomain(value) : value));
  }
}

const NO_VALUES: readonly string[] = [];

/** A cheap check that avoids parsing most values as ranges. */
function isRangeLike(value: string): boolean {
  return /^[\da-f.:]+[/-]/.test(value);
}

/** Counts the sorted ranges that begin before a number. */
function countBelow(sorted: readonly NumberedRange[], limit: bigint): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.first ?? limit) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether two verdict scopes overlap. The default scope is assumed to apply to all mail. */
export function isOverlappingScope(a: string = DEFAULT_VERDICT_SCOPE, b: string = DEFAULT_VERDICT_SCOPE): boolean {
  return a === b || a === DEFAULT_VERDICT_SCOPE || b === DEFAULT_VERDICT_SCOPE;
}
