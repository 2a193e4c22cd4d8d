import { DEFAULT_VERDICT_SCOPE, type List } from "../model/assumptions";
import { listCoveringValues, parseWildcard } from "../model/covering-values";
import type { ThreatRecord } from "./mail-records";

export interface ProposedEntry {
  readonly key: string;
  readonly list: List;
  /** The canonical form. */
  readonly value: string;
  /** The type that the service reports, or the type that the value implies. */
  readonly entryType: string;
  readonly verdictScope: string;
}

/**
 * Finds the entries that match a sender, and which of them decides. The reference specifies neither, so this follows our assumptions
 * (docs/reference/assumptions.md, "Mail"):
 *
 * - The value of an entry implies its type, whatever type the service reports. A domain entry matches mail from the domain and its subdomains; a wildcard (`*.wild.example`) only subdomains; a mailbox entry only
 *   that mailbox. IP entries match nothing, because the IP address of a message is unknown.
 * - The most specific entry decides: the mailbox, then the domain with the most labels. On a tie, deny wins over allow, then existing
 *   entries over new ones.
 * - Scope `global` applies to all mail; any other scope to mail with the verdict of the same name (`graymail`). The verdict `denied` hides
 *   the original scope, so a deny of any scope may have matched.
 */
export class EntryPrecedence {
  readonly #byValue: ReadonlyMap<string, readonly ProposedEntry[]>;
  readonly #newKeys: ReadonlySet<string>;

  /** @param newKeys the keys of new entries. Default: none. */
  constructor(entries: readonly ProposedEntry[], newKeys: ReadonlySet<string> = new Set()) {
    this.#newKeys = newKeys;
    this.#byValue = Map.groupBy(entries, ({ value }) => value);
  }

  /** Returns the matching entries, the deciding one first. */
  findMatches({
    sender: { mailbox, domains },
    verdict,
  }: Pick<ThreatRecord, "sender" | "verdict">): readonly ProposedEntry[] {
    const entries = mailbox === undefined ? [] : this.#findEntries(mailbox, verdict);
    const covering = (mailbox === undefined ? [] : listCoveringValues(mailbox)).concat(
      domains.flatMap((domain) => [domain, ...listCoveringValues(domain)]),
    );
    for (const value of new Set(covering)) entries.push(...this.#findEntries(value, verdict));
    return entries.sort((a, b) => getSpecificity(b) - getSpecificity(a) || this.#compareOrder(a, b));
  }

  #findEntries(value: string, verdict: string): ProposedEntry[] {
    const entries = this.#byValue.get(value) ?? [];
    return entries.filter((entry) => appliesToVerdict(entry, verdict));
  }

  #compareOrder(a: ProposedEntry, b: ProposedEntry): number {
    const getWeight = ({ list, key }: ProposedEntry): number =>
      (list === "deny" ? 0 : 2) + Number(this.#newKeys.has(key));
    return getWeight(a) - getWeight(b) || (a.key < b.key ? -1 : 1);
  }
}

/** Ranks how specific an entry is: mailboxes first, then domains by label count; a wildcard ranks below the domain that it stands for. */
export function getSpecificity({ value }: Pick<ProposedEntry, "value">): number {
  const wildcard = parseWildcard(value);
  if (wildcard !== undefined) {
    const labels = wildcard.domain === "" ? 0 : wildcard.domain.split(".").length;
    // Mailbox wildcards (`*@*.wild.example`) rank above domain wildcards (`*.wild.example`).
    return labels + 0.5 + (value.startsWith("*@*") ? 0.25 : 0);
  }
  return value.includes("@") ? Number.MAX_SAFE_INTEGER : value.split(".").length;
}

function appliesToVerdict({ list, verdictScope }: ProposedEntry, verdict: string): boolean {
  if (verdictScope === DEFAULT_VERDICT_SCOPE || verdictScope === verdict) return true;
  return list === "deny" && verdict === "denied";
}
