import { parseAddressRange } from "./address-range";

/**
 * The values, in canonical form, whose entries cover a domain or a mailbox without being of it, the most specific first: the wildcards and
 * domains above it, and of a mailbox its own domain. That a domain's entry covers what is below it is an assumption
 * (docs/reference/assumptions.md). `*.wild.example` covers what is below `wild.example`, and not that domain itself.
 *
 * @param value in canonical form; an IP address has none.
 */
export function coveringValues(value: string): string[] {
  const at = value.lastIndexOf("@");
  if (at < 0 && (value.includes(":") || /^[\d.]+$/.test(value))) return [];
  const domain = value.slice(at + 1);
  const covering = at < 0 ? [] : [`*@${domain}`, domain];
  for (let dot = domain.indexOf("."); dot >= 0; dot = domain.indexOf(".", dot + 1)) {
    const parent = domain.slice(dot + 1);
    covering.push(`*.${parent}`, parent);
  }
  return covering;
}

/** Whether a value in canonical form stands for many: `*.wild.example`, `*@wild.example`. */
export function isWildcard(value: string): boolean {
  return value.startsWith("*");
}

/** Finds which of a few values an entry covers: of any number of entries, each costs a look into a map. */
export class CoveredValues {
  readonly #byCovering = new Map<string, string[]>();
  readonly #addresses: string[] = [];

  /** @param values in canonical form. */
  constructor(values: Iterable<string>) {
    for (const value of values) {
      const covering = coveringValues(value);
      if (covering.length === 0) this.#addresses.push(value);
      for (const one of covering) {
        const covered = this.#byCovering.get(one);
        if (covered === undefined) this.#byCovering.set(one, [value]);
        else covered.push(value);
      }
    }
  }

  /**
   * Those that an entry covers beside its own value.
   *
   * @param entryValue in canonical form.
   */
  coveredBy(entryValue: string): readonly string[] {
    const covered = this.#byCovering.get(entryValue);
    if (covered !== undefined) return covered;
    if (this.#addresses.length === 0 || !/[/-]/.test(entryValue)) return NONE;
    const range = parseAddressRange(entryValue);
    return range === undefined ? NONE : this.#addresses.filter((address) => range.includes(address));
  }
}

const NONE: readonly string[] = [];
