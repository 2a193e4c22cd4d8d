import { DEFAULT_VERDICT_SCOPE, type EntryType, type List } from "../settings/assumptions";
import { coveringValues, isWildcard, parseWildcard } from "../settings/coverage";
import type { SeenThreat } from "./seen-mail";

/** An entry of the allow/deny list as it would be. */
export interface ProposedEntry {
  /** As in a keyed list. */
  readonly key: string;
  readonly list: List;
  /** In canonical form. */
  readonly value: string;
  readonly entryType: EntryType;
  readonly verdictScope: string;
}

/**
 * Which entries a sender comes under, and which of them decides. The reference tells neither, so this rests on what is assumed
 * (docs/reference/assumptions.md, "Mail"):
 *
 * - An entry of a domain stands for mail from it and from below it, a wildcard (`*.wild.example`) for mail from below it, one of a mailbox
 *   for mail from it. Nothing is known of a
 *   message's IP address, so entries of addresses match nothing.
 * - The entry that says most about a sender decides: the mailbox, else the domain with the most labels. Where two say as
 *   much, deny decides before allow, and what was there before decides before what is new.
 * - Scope `global` concerns all mail, any other scope that whose verdict has its name (`graymail`). Mail that was found `denied`
 *   came under a deny: its verdict no longer tells of which scope, so that a deny of any may have been it.
 */
export class Deciders {
  readonly #byValue: ReadonlyMap<string, readonly ProposedEntry[]>;
  readonly #isNew: ReadonlySet<string>;

  /** @param isNew the keys of those that are new. Default: all were there before. */
  constructor(entries: readonly ProposedEntry[], isNew: ReadonlySet<string> = new Set()) {
    this.#isNew = isNew;
    this.#byValue = Map.groupBy(entries, ({ value }) => value);
  }

  /** The one that decides first. */
  of({
    sender: { mailbox, domains },
    verdict,
  }: Pick<SeenThreat, "sender" | "verdict">): readonly ProposedEntry[] {
    const entries = mailbox === undefined ? [] : this.#named("email_address", mailbox, verdict);
    const covering = (mailbox === undefined ? [] : coveringValues(mailbox)).concat(
      domains.flatMap((domain) => [domain, ...coveringValues(domain)]),
    );
    for (const value of new Set(covering)) entries.push(...this.#named("domain", value, verdict));
    return entries.sort((one, other) => precisionOf(other) - precisionOf(one) || this.#before(one, other));
  }

  #named(entryType: string, value: string, verdict: string): ProposedEntry[] {
    const entries = this.#byValue.get(value) ?? [];
    const isOfType = (entry: ProposedEntry): boolean => isWildcard(value) || entry.entryType === entryType;
    return entries.filter((entry) => isOfType(entry) && concerns(entry, verdict));
  }

  #before(one: ProposedEntry, other: ProposedEntry): number {
    const weight = ({ list, key }: ProposedEntry): number =>
      (list === "deny" ? 0 : 2) + Number(this.#isNew.has(key));
    return weight(one) - weight(other) || (one.key < other.key ? -1 : 1);
  }
}

/** How much an entry says about a sender: a mailbox most, else a domain by its labels; a wildcard less than what it stands for. */
export function precisionOf({ entryType, value }: Pick<ProposedEntry, "entryType" | "value">): number {
  const wildcard = parseWildcard(value);
  if (wildcard !== undefined) {
    const labels = wildcard.domain === "" ? 0 : wildcard.domain.split(".").length;
    // Below a domain, mailboxes come before all else: `*@*.wild.example`, `*.wild.example`.
    return labels + 0.5 + (value.startsWith("*@*") ? 0.25 : 0);
  }
  return entryType === "email_address" ? Number.MAX_SAFE_INTEGER : value.split(".").length;
}

function concerns({ list, verdictScope }: ProposedEntry, verdict: string): boolean {
  if (verdictScope === DEFAULT_VERDICT_SCOPE || verdictScope === verdict) return true;
  return list === "deny" && verdict === "denied";
}
