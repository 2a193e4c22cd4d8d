import { DEFAULT_VERDICT_SCOPE, type EntryType, type List } from "../settings/assumptions";
import type { EvidenceBase } from "./evidence";
import type { Backtest, BacktestAllow, BacktestDeny, BacktestExample } from "./plan";
import { domainsUp, fateOf, instantOf, isHarmful, type SeenThreat } from "./seen-mail";
import { recipientsOf, Tally } from "./tally";

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

/** What a backtest is of. */
export interface Proposal {
  /** The whole list as it would be. */
  readonly entries: readonly ProposedEntry[];
  /** The keys of those that are new or changed. */
  readonly changed: Iterable<string>;
}

const SHOWN_EXAMPLES = 3;

/**
 * Replays the threats of the window against the lists as they would be. An estimate: it knows only mail in which the
 * service detected something, and rests on what the reference does not tell about entries:
 *
 * - An entry of a domain stands for mail from it and from below it, one of a mailbox for mail from it. Whom mail is from
 *   is told as in {@link evidenceOf}. Nothing is known of a message's IP address, so entries of addresses match nothing.
 * - The entry that says most about a sender decides: the mailbox, else the domain with the most labels. Where two say as
 *   much, deny decides before allow, and what was there before decides before what is new.
 * - Scope `global` concerns all threats, any other scope those whose verdict has its name (`graymail`).
 * - A threat was stopped when it was moved or quarantined and not put back. An allow lets through what was stopped and
 *   what it would decide, unless the verdict is safe, allowed or simulation: these do no harm, and are counted by verdict
 *   only.
 * - A deny stops what it would decide and what had stayed in a mailbox: no action, restored or released.
 *
 * Takes time in proportion to entries and threats.
 */
export function backtest(base: EvidenceBase, { entries, changed }: Proposal): Backtest {
  const threats = base.threats ?? [];
  const isNew = new Set(changed);
  const matching = new Matching(entries, isNew);
  const allows = new Map<string, AllowTally>();
  const denies = new Map<string, DenyTally>();
  for (const { key, list, entryType } of entries) {
    if (entryType === "ip" || !isNew.has(key)) continue;
    if (list === "allow") allows.set(key, new AllowTally());
    else denies.set(key, new DenyTally());
  }
  const matched = new Set<ProposedEntry>();
  for (const threat of threats) {
    const [decider, ...others] = matching.of(threat);
    if (decider === undefined) continue;
    for (const entry of [decider, ...others]) {
      matched.add(entry);
      if (entry.list === "deny") denies.get(entry.key)?.match(threat, entry === decider);
    }
    if (decider.list === "allow") allows.get(decider.key)?.decide(threat);
  }
  const { vips } = base;
  const allDenies = entries.filter(({ list }) => list === "deny");
  return {
    threats: threats.length,
    allows: Array.from(allows, ([key, tally]) => tally.result(key, vips)).sort(
      (one, other) => other.letThrough - one.letThrough || byVips(one, other),
    ),
    denies: Array.from(denies, ([key, tally]) => tally.result(key, vips)).sort(
      (one, other) => other.stopped - one.stopped || other.matched - one.matched || byVips(one, other),
    ),
    unmatchedDenies: allDenies
      .filter((entry) => entry.entryType !== "ip" && !matched.has(entry))
      .map(({ key }) => key)
      .sort(),
    denyCount: allDenies.length,
  };
}

/** Which entries a threat comes under. */
export class Matching {
  readonly #byValue: ReadonlyMap<string, readonly ProposedEntry[]>;
  readonly #rank: ReadonlyMap<ProposedEntry, number>;

  constructor(entries: readonly ProposedEntry[], isNew: ReadonlySet<string>) {
    const able = entries.filter(({ entryType }) => entryType !== "ip");
    const weight = ({ list, key }: ProposedEntry): number =>
      (list === "deny" ? 0 : 2) + Number(isNew.has(key));
    able.sort((one, other) => weight(one) - weight(other) || (one.key < other.key ? -1 : 1));
    this.#rank = new Map(able.map((entry, rank) => [entry, rank]));
    this.#byValue = Map.groupBy(able, ({ entryType, value }) => nameOf(entryType, value));
  }

  /** The one that decides first. */
  of({ sender: { mailbox, domains }, verdict }: SeenThreat): readonly ProposedEntry[] {
    const names = mailbox === undefined ? [] : [nameOf("email_address", mailbox)];
    for (const domain of new Set(domains.flatMap(domainsUp))) names.push(nameOf("domain", domain));
    const entries = names.flatMap((name) =>
      (this.#byValue.get(name) ?? []).filter((entry) => concerns(entry, verdict)),
    );
    // The names of one domain are in order already.
    return domains.length < 2 ? entries : entries.sort((one, other) => this.#before(one, other));
  }

  #before(one: ProposedEntry, other: ProposedEntry): number {
    const rank = (entry: ProposedEntry): number => this.#rank.get(entry) ?? 0;
    return precision(other) - precision(one) || rank(one) - rank(other);
  }
}

/** How much an entry says about a sender: a mailbox most, else a domain by its labels. */
function precision({ entryType, value }: ProposedEntry): number {
  return entryType === "email_address" ? Number.MAX_SAFE_INTEGER : value.split(".").length;
}

function nameOf(entryType: string, value: string): string {
  return `${entryType} ${value}`;
}

function concerns({ verdictScope }: ProposedEntry, verdict: string): boolean {
  return verdictScope === DEFAULT_VERDICT_SCOPE || verdictScope === verdict;
}

function byVips(
  one: { readonly key: string; readonly vipCount: number },
  other: { readonly key: string; readonly vipCount: number },
): number {
  return other.vipCount - one.vipCount || (one.key < other.key ? -1 : 1);
}

class AllowTally {
  readonly #verdicts = new Tally();
  readonly #recipients = new Tally();
  readonly #through: SeenThreat[] = [];

  decide(threat: SeenThreat): void {
    if (fateOf(threat) !== "stopped") return;
    this.#verdicts.add(threat.verdict);
    if (!isHarmful(threat)) return;
    this.#recipients.add(threat.recipient);
    this.#through.push(threat);
  }

  result(key: string, vips: ReadonlySet<string>): BacktestAllow {
    return {
      key,
      letThrough: this.#through.length,
      verdicts: this.#verdicts.counts(),
      ...recipientsOf(this.#recipients, vips),
      examples: examplesOf(this.#through, vips),
    };
  }
}

class DenyTally {
  readonly #recipients = new Tally();
  #matched = 0;
  #stopped = 0;

  match(threat: SeenThreat, decides: boolean): void {
    this.#matched += 1;
    this.#recipients.add(threat.recipient);
    if (decides && fateOf(threat) === "delivered") this.#stopped += 1;
  }

  /** Its recipients are those of all that came under it. */
  result(key: string, vips: ReadonlySet<string>): BacktestDeny {
    return {
      key,
      matched: this.#matched,
      stopped: this.#stopped,
      ...recipientsOf(this.#recipients, vips),
    };
  }
}

/** Malicious ones first, then those to VIPs, then the latest. */
function examplesOf(threats: readonly SeenThreat[], vips: ReadonlySet<string>): BacktestExample[] {
  const weight = ({ verdict, recipient = "" }: SeenThreat): number =>
    2 * Number(verdict === "malicious") + Number(vips.has(recipient));
  return threats
    .toSorted(
      (one, other) =>
        weight(other) - weight(one) || (instantOf(other.time) ?? 0) - (instantOf(one.time) ?? 0),
    )
    .slice(0, SHOWN_EXAMPLES)
    .map(exampleOf);
}

function exampleOf({ id, time, sender, recipient, subject, verdict }: SeenThreat): BacktestExample {
  const from = sender.mailbox ?? sender.domains[0];
  return {
    id,
    ...(time === undefined ? {} : { time }),
    ...(from === undefined ? {} : { sender: from }),
    ...(recipient === undefined ? {} : { recipient }),
    ...(subject === undefined ? {} : { subject }),
    verdict,
  };
}
