import { addressNumber, parseAddressRange } from "./address-range";
import { DEFAULT_VERDICT_SCOPE } from "./assumptions";

/**
 * The values, in canonical form, whose entries cover a domain or a mailbox without being of it, the most specific first: the wildcards and
 * domains above it, and of a mailbox its own domain. That a domain's entry covers what is below it is an assumption
 * (docs/reference/assumptions.md). `*.wild.example` covers what is below `wild.example`, and not that domain itself; `*` covers all.
 *
 * @param value in canonical form; an IP address has none.
 */
export function coveringValues(value: string): string[] {
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

/** Whether a value in canonical form stands for many: `*.wild.example`, `*@wild.example`, `*@*.wild.example`. */
export function isWildcard(value: string): boolean {
  return value.startsWith("*");
}

/** What a wildcard in canonical form stands for. */
export interface WildcardScope {
  /** Empty where all domains are meant. */
  readonly domain: string;
  /** Whether it stands for the domain itself (`*@wild.example`), rather than for what is below it. */
  readonly isOfDomain: boolean;
}

/** @param value in canonical form; undefined where it isn't a wildcard. */
export function parseWildcard(value: string): WildcardScope | undefined {
  const [, subdomainPrefix, domain = ""] = /^(?:\*@)?(\*(?:\.|$))?(.*)$/s.exec(value) ?? [];
  if (!isWildcard(value) || domain.includes("*")) return undefined;
  return { domain, isOfDomain: subdomainPrefix === undefined };
}

/** An IP address that is looked for, or a range of them, as numbers. */
interface NumberedRange {
  readonly value: string;
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Finds which values an entry covers. It is indexed by the covering values of each, and by the order of addresses: of any number of
 * entries, each costs a look into a map, or a binary search.
 */
export class CoveredValues {
  readonly #byCovering = new Map<string, string[]>();
  /** By their width in bits, in ascending order of their first address. */
  readonly #addresses: ReadonlyMap<number, readonly NumberedRange[]>;

  /** @param values in canonical form. */
  constructor(values: Iterable<string>) {
    const addresses = new Map<number, NumberedRange[]>();
    for (const value of values) {
      const address = addressNumber(value);
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
      for (const coveringValue of coveringValues(value)) {
        const covered = this.#byCovering.get(coveringValue);
        if (covered === undefined) this.#byCovering.set(coveringValue, [value]);
        else covered.push(value);
      }
    }
    for (const ranges of addresses.values()) {
      ranges.sort((coveringValue, other) =>
        coveringValue.first < other.first ? -1 : Number(coveringValue.first > other.first),
      );
    }
    this.#addresses = addresses;
  }

  /**
   * Those that an entry covers beside its own value.
   *
   * @param entryValue in canonical form.
   */
  coveredBy(entryValue: string): readonly string[] {
    const covered = this.#byCovering.get(entryValue);
    if (covered !== undefined) return covered;
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
}

const NO_VALUES: readonly string[] = [];

/** Whether it is worth to parse a value as a range. */
function isRangeLike(value: string): boolean {
  return /^[\da-f.:]+[/-]/.test(value);
}

/** How many of the sorted ranges begin before a number. */
function countBelow(sorted: readonly NumberedRange[], limit: bigint): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.first ?? limit) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether two verdict scopes have mail in common. The default scope is taken to have all mail. */
export function isOverlappingScope(
  one: string = DEFAULT_VERDICT_SCOPE,
  other: string = DEFAULT_VERDICT_SCOPE,
): boolean {
  return one === other || one === DEFAULT_VERDICT_SCOPE || other === DEFAULT_VERDICT_SCOPE;
}
