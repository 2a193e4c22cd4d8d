import { listDomainAndParents } from "../../plan/mail-records";
import { CoverageIndex, isWildcard } from "../../settings/coverage";
import type { FindQuery, MatchType } from "./find-schema";

/** A match between an entry and the query. */
export interface QueryMatch {
  readonly query: FindQuery;
  readonly matchType: MatchType;
}

/** Matches lists of any length against a few values, with a map lookup per entry. */
export class Matcher {
  readonly queries: readonly FindQuery[];
  /** Whether the query can match a mailbox; otherwise VIPs need not be read. */
  readonly canMatchMailbox: boolean;
  /** By type, then by value. */
  readonly #matchesByType = new Map<string, Map<string, QueryMatch[]>>();
  readonly #parentQueries: ReadonlyMap<string, FindQuery>;
  readonly #queryByValue: ReadonlyMap<string, FindQuery>;
  readonly #coveredValues: CoverageIndex;

  /** @param below whether to match entries below a domain too. */
  constructor(queries: readonly FindQuery[], { below = false }: { readonly below?: boolean } = {}) {
    this.queries = queries;
    this.#queryByValue = new Map(queries.map((query) => [query.value, query]));
    this.#coveredValues = new CoverageIndex(this.#queryByValue.keys());
    for (const query of queries)
      for (const [entryType, value, matchType] of getMatchingNames(query))
        this.#addMatch(entryType, value, { query, matchType });
    const domains = below ? queries.filter(({ entryType }) => entryType === "domain") : [];
    this.#parentQueries = new Map(domains.map((query) => [query.value, query]));
    this.canMatchMailbox = domains.length > 0 || queries.some(({ entryType }) => entryType === "email_address");
  }

  /** @param value the value in canonical form. */
  match(entryType: string, value: string): readonly QueryMatch[] {
    const above = this.#matchesByType.get(entryType)?.get(value) ?? this.#matchPattern(value);
    if (this.#parentQueries.size === 0 || entryType === "ip") return above;
    const at = value.lastIndexOf("@");
    const [ownDomain = "", ...parentDomains] = listDomainAndParents(value.slice(at + 1));
    const below = (at < 0 ? parentDomains : [ownDomain, ...parentDomains]).flatMap((domain): QueryMatch[] => {
      const query = this.#parentQueries.get(domain);
      return query === undefined ? [] : [{ query, matchType: "below" }];
    });
    return [...above, ...below];
  }

  /** Returns what a wildcard or range covers, regardless of its type at the service. */
  #matchPattern(value: string): readonly QueryMatch[] {
    const isWildcardValue = isWildcard(value);
    if (!isWildcardValue && !/[/-]/.test(value)) return NO_MATCHES;
    return this.#coveredValues.findCovered(value).flatMap((covered): QueryMatch[] => {
      const query = this.#queryByValue.get(covered);
      const isAddress = query?.entryType === "ip";
      // A domain with a hyphen is matched by type and value instead.
      if (query === undefined || isWildcardValue === isAddress) return [];
      return [{ query, matchType: isAddress ? "range" : "wildcard" }];
    });
  }

  #addMatch(entryType: string, value: string, match: QueryMatch): void {
    const typeMatches = this.#matchesByType.get(entryType) ?? new Map<string, QueryMatch[]>();
    this.#matchesByType.set(entryType, typeMatches);
    const existing = typeMatches.get(value);
    if (existing === undefined) typeMatches.set(value, [match]);
    else existing.push(match);
  }
}

const NO_MATCHES: readonly QueryMatch[] = [];

function getMatchingNames({ value, entryType }: FindQuery): [entryType: string, value: string, how: MatchType][] {
  const exact: [string, string, MatchType] = [entryType, value, "exact"];
  if (entryType === "ip") return [exact];
  const [ownDomain = "", ...parentDomains] = listDomainAndParents(value.slice(value.lastIndexOf("@") + 1));
  const parents = parentDomains.map((domain): [string, string, MatchType] => ["domain", domain, "parent"]);
  return entryType === "domain" ? [exact, ...parents] : [exact, ["domain", ownDomain, "domain"], ...parents];
}
