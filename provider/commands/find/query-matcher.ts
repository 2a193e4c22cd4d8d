import { type AddressRange, parseAddressBounds, parseAddressRange } from "../../model/address-range";
import { CoverageIndex, isWildcard, listCoveringValues } from "../../model/covering-values";
import { getMailDomain } from "../../model/entry-value";
import { listDomainAndParents } from "../../model/own-domains";
import type { FindQuery, MatchType } from "./find-schema";

export interface QueryMatch {
  readonly query: FindQuery;
  readonly matchType: MatchType;
}

/** Matches lists of any length against a few values, with a map lookup per entry. */
export class QueryMatcher {
  readonly queries: readonly FindQuery[];
  /** Whether the query can match a mailbox; otherwise VIPs need not be read. */
  readonly canMatchMailbox: boolean;
  readonly #matchesByValue = new Map<string, QueryMatch[]>();
  /** The domains and wildcards whose covered entries match too. */
  readonly #parentQueries: ReadonlyMap<string, FindQuery>;
  /** The address ranges whose addresses and inner ranges match too. */
  readonly #rangeQueries: readonly { readonly query: FindQuery; readonly range: AddressRange }[];
  readonly #queryByValue: ReadonlyMap<string, FindQuery>;
  readonly #coveredValues: CoverageIndex;

  /** @param below whether to match entries below a domain, a wildcard or an address range too. */
  constructor(queries: readonly FindQuery[], { below = false }: { readonly below?: boolean } = {}) {
    this.queries = queries;
    this.#queryByValue = new Map(queries.map((query) => [query.value, query]));
    this.#coveredValues = new CoverageIndex(this.#queryByValue.keys());
    for (const query of queries)
      for (const [value, matchType] of getMatchingValues(query)) this.#addMatch(value, { query, matchType });
    const parents = below ? queries.filter(({ entryType }) => entryType !== "ip") : [];
    this.#parentQueries = new Map(parents.map((query) => [query.value, query]));
    this.#rangeQueries = (below ? queries : []).flatMap((query) => {
      const range = parseAddressRange(query.value);
      return range === undefined ? [] : [{ query, range }];
    });
    this.canMatchMailbox = parents.length > 0 || queries.some(({ entryType }) => entryType === "email_address");
  }

  /**
   * Returns the matches of an entry or a VIP. The type of an entry doesn't matter, because the value implies it.
   *
   * @param value the value in canonical form.
   */
  match(value: string): readonly QueryMatch[] {
    const byValue = this.#matchesByValue.get(value) ?? NO_MATCHES;
    const byPattern = this.#matchPattern(value);
    const below = this.#findQueriesAbove(value).map((query): QueryMatch => ({ query, matchType: "below" }));
    if (byPattern.length === 0 && below.length === 0) return byValue;
    // A row can match one query by its value, and cover other queries.
    const newMatches = byPattern.filter(({ query }) => !byValue.some((match) => match.query === query));
    return [...byValue, ...newMatches, ...below];
  }

  #findQueriesAbove(value: string): readonly FindQuery[] {
    if (this.#parentQueries.size === 0 && this.#rangeQueries.length === 0) return [];
    const bounds = parseAddressBounds(value);
    if (bounds === undefined) {
      return [...new Set(listCoveringValues(value))].flatMap((covering) => this.#parentQueries.get(covering) ?? []);
    }
    const { width, first, last } = bounds;
    return this.#rangeQueries.flatMap(({ query, range }) =>
      query.value !== value && range.width === width && range.first <= first && last <= range.last ? [query] : [],
    );
  }

  #matchPattern(value: string): readonly QueryMatch[] {
    const isWildcardValue = isWildcard(value);
    if (!isWildcardValue && !/[/-]/.test(value)) return NO_MATCHES;
    return this.#coveredValues.findCovered(value).flatMap((covered): QueryMatch[] => {
      const query = this.#queryByValue.get(covered);
      const isAddress = query?.entryType === "ip";
      // A domain with a hyphen is matched by its value instead.
      if (query === undefined || !(isWildcardValue || isAddress)) return [];
      return [{ query, matchType: isAddress ? "range" : "wildcard" }];
    });
  }

  #addMatch(value: string, match: QueryMatch): void {
    const existing = this.#matchesByValue.get(value);
    if (existing === undefined) this.#matchesByValue.set(value, [match]);
    else existing.push(match);
  }
}

const NO_MATCHES: readonly QueryMatch[] = [];

function getMatchingValues({ value, entryType }: FindQuery): [value: string, matchType: MatchType][] {
  const exact: [string, MatchType] = [value, "exact"];
  if (entryType === "ip") return [exact];
  const [ownDomain = "", ...parentDomains] = listDomainAndParents(getMailDomain(value));
  const parents = parentDomains.map((domain): [string, MatchType] => [domain, "parent"]);
  return entryType === "domain" ? [exact, ...parents] : [exact, [ownDomain, "domain"], ...parents];
}
