import { domainsUp } from "../../plan/seen-mail";
import { CoveredValues, isWildcard } from "../../settings/coverage";
import type { How, Wanted } from "./find-schema";

/** A match between an entry and the query. */
export interface Match {
  readonly wanted: Wanted;
  readonly how: How;
}

/** Matches lists of any length against a few values, with a map lookup per entry. */
export class Matcher {
  readonly wanted: readonly Wanted[];
  /** Whether the query can match a mailbox; otherwise VIPs need not be read. */
  readonly meansMailboxes: boolean;
  /** By type, then by value. */
  readonly #above = new Map<string, Map<string, Match[]>>();
  readonly #below: ReadonlyMap<string, Wanted>;
  readonly #byValue: ReadonlyMap<string, Wanted>;
  readonly #covered: CoveredValues;

  /** @param below whether to match entries below a domain too. */
  constructor(wanted: readonly Wanted[], { below = false }: { readonly below?: boolean } = {}) {
    this.wanted = wanted;
    this.#byValue = new Map(wanted.map((one) => [one.value, one]));
    this.#covered = new CoveredValues(this.#byValue.keys());
    for (const one of wanted)
      for (const [entryType, value, how] of namesAbove(one))
        this.#add(entryType, value, { wanted: one, how });
    const domains = below ? wanted.filter(({ entryType }) => entryType === "domain") : [];
    this.#below = new Map(domains.map((one) => [one.value, one]));
    this.meansMailboxes = domains.length > 0 || wanted.some(({ entryType }) => entryType === "email_address");
  }

  /** @param value the value in canonical form. */
  of(entryType: string, value: string): readonly Match[] {
    const above = this.#above.get(entryType)?.get(value) ?? this.#pattern(value);
    if (this.#below.size === 0 || entryType === "ip") return above;
    const at = value.lastIndexOf("@");
    const [own = "", ...higher] = domainsUp(value.slice(at + 1));
    const below = (at < 0 ? higher : [own, ...higher]).flatMap((domain): Match[] => {
      const wanted = this.#below.get(domain);
      return wanted === undefined ? [] : [{ wanted, how: "below" }];
    });
    return [...above, ...below];
  }

  /** Returns what a wildcard or range covers, regardless of its type at the service. */
  #pattern(value: string): readonly Match[] {
    const isOne = isWildcard(value);
    if (!isOne && !/[/-]/.test(value)) return NONE;
    return this.#covered.coveredBy(value).flatMap((covered): Match[] => {
      const wanted = this.#byValue.get(covered);
      const isAddress = wanted?.entryType === "ip";
      // A domain with a hyphen is matched by type and value instead.
      if (wanted === undefined || isOne === isAddress) return [];
      return [{ wanted, how: isAddress ? "range" : "wildcard" }];
    });
  }

  #add(entryType: string, value: string, match: Match): void {
    const ofType = this.#above.get(entryType) ?? new Map<string, Match[]>();
    this.#above.set(entryType, ofType);
    const there = ofType.get(value);
    if (there === undefined) ofType.set(value, [match]);
    else there.push(match);
  }
}

const NONE: readonly Match[] = [];

function namesAbove({ value, entryType }: Wanted): [entryType: string, value: string, how: How][] {
  const exact: [string, string, How] = [entryType, value, "exact"];
  if (entryType === "ip") return [exact];
  const [own = "", ...higher] = domainsUp(value.slice(value.lastIndexOf("@") + 1));
  const parents = higher.map((domain): [string, string, How] => ["domain", domain, "parent"]);
  return entryType === "domain" ? [exact, ...parents] : [exact, ["domain", own, "domain"], ...parents];
}
