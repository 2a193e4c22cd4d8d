import { Deciders, type ProposedEntry } from "../../plan/deciders";
import { DEFAULT_VERDICT_SCOPE, ENTRY_TYPES, LISTS } from "../../settings/assumptions";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Decision, Found, How, Wanted } from "./find-schema";

/**
 * Returns the deciding entries for the requested senders at one tenant.
 *
 * @param source the entries to evaluate: those of the tenant, or those of its files.
 */
export function decisionsOf(
  queries: readonly Wanted[],
  matches: readonly Found[],
  source: "tenant" | "files",
): readonly Decision[] {
  return queries
    .filter(({ isSender }) => isSender)
    .flatMap((query) => {
      const queryMatches = matches.filter(
        ({ kind, wanted: matchedQuery, how }) => kind === "entry" && matchedQuery === query.value && how !== "below",
      );
      const entries = queryMatches.flatMap((entry) => buildProposedEntries(entry, source));
      const exact = new Set(queryMatches.filter(({ how }) => !BROADER_MATCHES.has(how)).map(({ key }) => key));
      const deciders = new Deciders(entries);
      const scopes = new Set([DEFAULT_VERDICT_SCOPE, ...entries.map(({ verdictScope }) => verdictScope)]);
      return [...scopes].map((scope) => buildDecision(query, scope, source, deciders, exact));
    });
}

/** Wider matches, for which the service may decide differently. */
const BROADER_MATCHES: ReadonlySet<How> = new Set<How>(["parent", "wildcard"]);

function buildDecision(
  { value: sender, entryType }: Wanted,
  scope: string,
  source: "tenant" | "files",
  deciders: Deciders,
  exact: ReadonlySet<string>,
): Decision {
  const isMailbox = entryType === "email_address";
  const decidingEntries = deciders.of({
    sender: {
      ...(isMailbox ? { mailbox: sender } : {}),
      domains: [sender.slice(sender.lastIndexOf("@") + 1)],
    },
    verdict: scope,
  });
  const [first] = decidingEntries;
  const decides =
    first === undefined
      ? undefined
      : { list: first.list, key: first.key, value: first.value, verdictScope: first.verdictScope };
  return withoutUndefined({
    sender,
    scope,
    of: source,
    decides,
    others: Math.max(0, decidingEntries.length - 1),
    isKnown:
      first === undefined ||
      (decidingEntries.every(({ list }) => list === first.list) && decidingEntries.some(({ key }) => exact.has(key))),
  });
}

function buildProposedEntries(
  { key, value, entryType, verdictScope = DEFAULT_VERDICT_SCOPE, there, declared }: Found,
  source: string,
): ProposedEntry[] {
  const type = ENTRY_TYPES.find((one) => one === entryType);
  if (type === undefined) return [];
  const lists = source === "tenant" ? there.map(({ list }) => list) : declared === undefined ? [] : [declared.list];
  return [...new Set(lists)].flatMap((listName) => {
    const list = LISTS.find((one) => one === listName);
    return list === undefined ? [] : [{ key, list, value, entryType: type, verdictScope }];
  });
}
