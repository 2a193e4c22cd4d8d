import { EntryPrecedence, type ProposedEntry } from "./entry-precedence";
import type { TenantMailHistory } from "./evidence";
import { countRecipients, FrequencyCounter } from "./frequency-counter";
import { getDeliveryOutcome, isHarmful, parseInstant, type ThreatRecord } from "./mail-records";
import type { Backtest, BacktestAllow, BacktestDeny, BacktestExample } from "./plan";

export interface BacktestInput {
  readonly entries: readonly ProposedEntry[];
  readonly changedKeys: Iterable<string>;
}

const MAX_EXAMPLES = 3;

/**
 * Replays the threats of the window against the desired lists. The result is an estimate: only mail with a detection is known, and the
 * reference doesn't specify how entries match.
 *
 * - {@link EntryPrecedence} determines which entry decides for a threat; {@link collectEvidence} documents how senders are identified.
 * - A threat was stopped if it was moved or quarantined and not put back. An allow lets through the stopped threats that it decides.
 *   Harmless verdicts (safe, allowed, simulation) are counted by verdict only.
 * - A deny stops the threats that it decides and that stayed in a mailbox: no action, restored or released.
 *
 * Runs in time proportional to entries and threats.
 */
export function runBacktest(base: TenantMailHistory, { entries, changedKeys }: BacktestInput): Backtest {
  const threats = base.threats ?? [];
  const newKeys = new Set(changedKeys);
  const deciders = new EntryPrecedence(entries, newKeys);
  const allows = new Map<string, AllowCounter>();
  const denies = new Map<string, DenyCounter>();
  for (const { key, list, entryType } of entries) {
    if (entryType === "ip" || !newKeys.has(key)) continue;
    if (list === "allow") allows.set(key, new AllowCounter());
    else denies.set(key, new DenyCounter());
  }
  const matchedEntries = new Set<ProposedEntry>();
  for (const threat of threats) {
    const [decider, ...others] = deciders.findMatches(threat);
    if (decider === undefined) continue;
    for (const entry of [decider, ...others]) {
      matchedEntries.add(entry);
      if (entry.list === "deny") denies.get(entry.key)?.countMatch(threat, entry === decider);
    }
    if (decider.list === "allow") allows.get(decider.key)?.countDecided(threat);
  }
  const { vips } = base;
  const allDenies = entries.filter(({ list }) => list === "deny");
  return {
    threats: threats.length,
    allows: Array.from(allows, ([key, counter]) => counter.buildResult(key, vips)).sort(
      (a, b) => b.deliveredCount - a.deliveredCount || compareByVips(a, b),
    ),
    denies: Array.from(denies, ([key, counter]) => counter.buildResult(key, vips)).sort(
      (a, b) => b.stoppedCount - a.stoppedCount || b.matchCount - a.matchCount || compareByVips(a, b),
    ),
    unmatchedDenies: allDenies
      .filter((entry) => entry.entryType !== "ip" && !matchedEntries.has(entry))
      .map(({ key }) => key)
      .sort(),
    denyCount: allDenies.length,
  };
}

function compareByVips(
  a: { readonly key: string; readonly vipCount: number },
  b: { readonly key: string; readonly vipCount: number },
): number {
  return b.vipCount - a.vipCount || (a.key < b.key ? -1 : 1);
}

class AllowCounter {
  readonly #verdicts = new FrequencyCounter();
  readonly #recipients = new FrequencyCounter();
  readonly #passedThreats: ThreatRecord[] = [];

  countDecided(threat: ThreatRecord): void {
    if (getDeliveryOutcome(threat) !== "stopped") return;
    this.#verdicts.add(threat.verdict);
    if (!isHarmful(threat)) return;
    this.#recipients.add(threat.recipient);
    this.#passedThreats.push(threat);
  }

  buildResult(key: string, vips: ReadonlySet<string>): BacktestAllow {
    return {
      key,
      deliveredCount: this.#passedThreats.length,
      verdicts: this.#verdicts.getCounts(),
      ...countRecipients(this.#recipients, vips),
      examples: selectExamples(this.#passedThreats, vips),
    };
  }
}

class DenyCounter {
  readonly #recipients = new FrequencyCounter();
  #matched = 0;
  #stopped = 0;

  countMatch(threat: ThreatRecord, decides: boolean): void {
    this.#matched += 1;
    this.#recipients.add(threat.recipient);
    if (decides && getDeliveryOutcome(threat) === "delivered") this.#stopped += 1;
  }

  /** Recipients include those of all matched threats, not only of the stopped ones. */
  buildResult(key: string, vips: ReadonlySet<string>): BacktestDeny {
    return {
      key,
      matchCount: this.#matched,
      stoppedCount: this.#stopped,
      ...countRecipients(this.#recipients, vips),
    };
  }
}

/** Returns examples: malicious first, then those sent to VIPs, then the latest. */
function selectExamples(threats: readonly ThreatRecord[], vips: ReadonlySet<string>): BacktestExample[] {
  const getWeight = ({ verdict, recipient = "" }: ThreatRecord): number =>
    2 * Number(verdict === "malicious") + Number(vips.has(recipient));
  return threats
    .toSorted((a, b) => getWeight(b) - getWeight(a) || (parseInstant(b.time) ?? 0) - (parseInstant(a.time) ?? 0))
    .slice(0, MAX_EXAMPLES)
    .map(buildExample);
}

function buildExample({ id, time, sender, recipient, subject, verdict }: ThreatRecord): BacktestExample {
  const senderText = sender.mailbox ?? sender.domains[0];
  return {
    id,
    ...(time === undefined ? {} : { time }),
    ...(senderText === undefined ? {} : { sender: senderText }),
    ...(recipient === undefined ? {} : { recipient }),
    ...(subject === undefined ? {} : { subject }),
    verdict,
  };
}
