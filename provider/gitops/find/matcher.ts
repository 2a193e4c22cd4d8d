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
  readonly #matchesByType = new Map<string, Map<string, Match[]>>();
  readonly #parentQueries: ReadonlyMap<string, Wanted>;
  readonly #queryByValue: ReadonlyMap<string, Wanted>;
  readonly #coveredValues: CoveredValues;

  /** @param below whether to match entries below a domain too. */
  constructor(queries: readonly Wanted[], { below = false }: { readonly below?: boolean } = {}) {
    this.wanted = queries;
    this.#queryByValue = new Map(queries.map((query) => [query.value, query]));
    this.#coveredValues = new CoveredValues(this.#queryByValue.keys());
    for (const query of queries)
      for (const [entryType, value, matchType] of getMatchingNames(query))
        this.#add(entryType, value, { wanted: query, how: matchType });
    const domains = below ? queries.filter(({ entryType }) => entryType === "domain") : [];
    this.#parentQueries = new Map(domains.map((query) => [query.value, query]));
    this.meansMailboxes = domains.length > 0 || queries.some(({ entryType }) => entryType === "email_address");
  }

  /** @param value the value in canonical form. */
  of(entryType: string, value: string): readonly Match[] {
    const above = this.#matchesByType.get(entryType)?.get(value) ?? this.#matchPattern(value);
    if (this.#parentQueries.size === 0 || entryType === "ip") return above;
    const at = value.lastIndexOf("@");
    const [ownDomain = "", ...parentDomains] = domainsUp(value.slice(at + 1));
    const below = (at < 0 ? parentDomains : [ownDomain, ...parentDomains]).flatMap((domain): Match[] => {
      const query = this.#parentQueries.get(domain);
      return query === undefined ? [] : [{ wanted: query, how: "below" }];
    });
    return [...above, ...below];
  }

  /** Returns what a wildcard or range covers, regardless of its type at the service. */
  #matchPattern(value: string): readonly Match[] {
    const isWildcardValue = isWildcard(value);
    if (!isWildcardValue && !/[/-]/.test(value)) return NO_MATCHES;
    return this.#coveredValues.coveredBy(value).flatMap((covered): Match[] => {
      const query = this.#queryByValue.get(covered);
      const isAddress = query?.entryType === "ip";
      // A domain with a hyphen is matched by type and value instead.
      if (query === undefined || isWildcardValue === isAddress) return [];
      return [{ wanted: query, how: isAddress ? "range" : "wildcard" }];
    });
  }

  #add(entryType: string, value: string, match: Match): void {
    const typeMatches = this.#matchesByType.get(entryType) ?? new Map<string, Match[]>();
    this.#matchesByType.set(entryType, typeMatches);
    const existing = typeMatches.get(value);
    if (existing === undefined) typeMatches.set(value, [match]);
    else existing.push(match);
  }
}

const NO_MATCHES: readonly Match[] = [];

function getMatchingNames({ value, entryType }: Wanted): [entryType: string, value: string, how: How][] {
  const exact: [string, string, How] = [entryType, value, "exact"];
  if (entryType === "ip") return [exact];
  const [ownDomain = "", ...parentDomains] = domainsUp(value.slice(value.lastIndexOf("@") + 1));
  const parents = parentDomains.map((domain): [string, string, How] => ["domain", domain, "parent"]);
  return entryType === "domain" ? [exact, ...parents] : [exact, ["domain", ownDomain, "domain"], ...parents];
}
