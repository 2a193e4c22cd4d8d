import { Deciders, type ProposedEntry } from "../../plan/deciders";
import { DEFAULT_VERDICT_SCOPE, ENTRY_TYPES, LISTS } from "../../settings/assumptions";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Decision, Found, How, Wanted } from "./find-schema";

/**
 * Returns the deciding entries for the requested senders at one tenant.
 *
 * @param of the entries to evaluate: those of the tenant, or those of its files.
 */
export function decisionsOf(
  wanted: readonly Wanted[],
  found: readonly Found[],
  of: "tenant" | "files",
): readonly Decision[] {
  return wanted
    .filter(({ isSender }) => isSender)
    .flatMap((one) => {
      const concerning = found.filter(
        ({ kind, wanted: asked, how }) => kind === "entry" && asked === one.value && how !== "below",
      );
      const entries = concerning.flatMap((entry) => proposed(entry, of));
      const exact = new Set(concerning.filter(({ how }) => !ABOVE.has(how)).map(({ key }) => key));
      const deciders = new Deciders(entries);
      const scopes = new Set([DEFAULT_VERDICT_SCOPE, ...entries.map(({ verdictScope }) => verdictScope)]);
      return [...scopes].map((scope) => decision(one, scope, of, deciders, exact));
    });
}

/** Wider matches, for which the service may decide differently. */
const ABOVE: ReadonlySet<How> = new Set<How>(["parent", "wildcard"]);

function decision(
  { value: sender, entryType }: Wanted,
  scope: string,
  of: "tenant" | "files",
  deciders: Deciders,
  exact: ReadonlySet<string>,
): Decision {
  const isMailbox = entryType === "email_address";
  const all = deciders.of({
    sender: {
      ...(isMailbox ? { mailbox: sender } : {}),
      domains: [sender.slice(sender.lastIndexOf("@") + 1)],
    },
    verdict: scope,
  });
  const [first] = all;
  const decides =
    first === undefined
      ? undefined
      : { list: first.list, key: first.key, value: first.value, verdictScope: first.verdictScope };
  return withoutUndefined({
    sender,
    scope,
    of,
    decides,
    others: Math.max(0, all.length - 1),
    isKnown:
      first === undefined ||
      (all.every(({ list }) => list === first.list) && all.some(({ key }) => exact.has(key))),
  });
}

function proposed(
  { key, value, entryType, verdictScope = DEFAULT_VERDICT_SCOPE, there, declared }: Found,
  of: string,
): ProposedEntry[] {
  const type = ENTRY_TYPES.find((one) => one === entryType);
  if (type === undefined) return [];
  const lists =
    of === "tenant" ? there.map(({ list }) => list) : declared === undefined ? [] : [declared.list];
  return [...new Set(lists)].flatMap((told) => {
    const list = LISTS.find((one) => one === told);
    return list === undefined ? [] : [{ key, list, value, entryType: type, verdictScope }];
  });
}
