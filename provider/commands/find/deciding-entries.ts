import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS } from "../../model/assumptions";
import { getMailDomain } from "../../model/entry-value";
import { omitUndefined } from "../../model/omit-undefined";
import { EntryPrecedence, type ProposedEntry } from "../../plan/entry-precedence";
import type { Decision, FindMatch, FindQuery, MatchType } from "./find-schema";

/**
 * Returns the deciding entries for the requested senders at one tenant.
 *
 * @param source the entries to evaluate: those of the tenant, or those of its files.
 */
export function buildDecisions(
  queries: readonly FindQuery[],
  matches: readonly FindMatch[],
  source: "tenant" | "files",
): readonly Decision[] {
  return queries
    .filter(({ isSender }) => isSender)
    .flatMap((query) => {
      const queryMatches = matches.filter(
        ({ kind, query: matchedQuery, matchType }) =>
          kind === "entry" && matchedQuery === query.value && matchType !== "below",
      );
      const entries = queryMatches.flatMap((entry) => buildProposedEntries(entry, source));
      const exact = new Set(
        queryMatches.filter(({ matchType }) => !BROADER_MATCHES.has(matchType)).map(({ key }) => key),
      );
      const deciders = new EntryPrecedence(entries);
      const scopes = new Set([DEFAULT_VERDICT_SCOPE, ...entries.map(({ verdictScope }) => verdictScope)]);
      return [...scopes].map((scope) => buildDecision(query, scope, source, deciders, exact));
    });
}

/** Wider matches, for which the service may decide differently. */
const BROADER_MATCHES: ReadonlySet<MatchType> = new Set<MatchType>(["parent", "wildcard"]);

function buildDecision(
  { value: sender, entryType }: FindQuery,
  scope: string,
  source: "tenant" | "files",
  deciders: EntryPrecedence,
  exact: ReadonlySet<string>,
): Decision {
  const isMailbox = entryType === "email_address";
  const decidingEntries = deciders.findMatches({
    sender: {
      ...(isMailbox ? { mailbox: sender } : {}),
      domains: [getMailDomain(sender)],
    },
    verdict: scope,
  });
  const [first] = decidingEntries;
  const decidingEntry =
    first === undefined
      ? undefined
      : { list: first.list, key: first.key, value: first.value, verdictScope: first.verdictScope };
  return omitUndefined({
    sender,
    scope,
    basis: source,
    decidingEntry,
    otherEntryCount: Math.max(0, decidingEntries.length - 1),
    isCertain:
      first === undefined ||
      (decidingEntries.every(({ list }) => list === first.list) && decidingEntries.some(({ key }) => exact.has(key))),
  });
}

function buildProposedEntries(
  { key, value, entryType, verdictScope = DEFAULT_VERDICT_SCOPE, actual, declared }: FindMatch,
  source: string,
): ProposedEntry[] {
  const lists = source === "tenant" ? actual.map(({ list }) => list) : declared === undefined ? [] : [declared.list];
  return [...new Set(lists)].flatMap((listName) => {
    const list = ENTRY_LISTS.find((entryList) => entryList === listName);
    return list === undefined ? [] : [{ key, list, value, entryType, verdictScope }];
  });
}
