import { EntryPrecedence, type ProposedEntry } from "../../plan/entry-precedence";
import type { TenantMailHistory } from "../../plan/evidence";
import { countRecipients, FrequencyCounter } from "../../plan/frequency-counter";
import { getDeliveryOutcome, isHarmful } from "../../plan/mail-records";
import type { EntryRemovalEstimate } from "../../plan/plan-schema";

/**
 * Replays the threats without an entry, with the assumptions of `backtest`.
 *
 * @param entries the whole list, including the entry.
 * @param key the key of the entry in the encoded list.
 * @returns undefined for IP addresses, or if no threats could be read.
 */
export function estimateEntryRemoval(
  base: TenantMailHistory,
  entries: readonly ProposedEntry[],
  key: string,
): EntryRemovalEstimate | undefined {
  const entry = entries.find((entry) => entry.key === key);
  if (base.threats === undefined || entry === undefined || entry.entryType === "ip") return undefined;
  const precedence = new EntryPrecedence(entries);
  const recipients = new FrequencyCounter();
  let [decidedCount, reversedCount, undecidedCount] = [0, 0, 0];
  for (const threat of base.threats) {
    const [decidingEntry, nextEntry] = precedence.findMatches(threat);
    if (decidingEntry !== entry) continue;
    decidedCount += 1;
    // The entry had no effect on this message.
    if (getDeliveryOutcome(threat) !== (entry.list === "deny" ? "stopped" : "delivered")) continue;
    if (nextEntry?.list === entry.list || (entry.list === "deny" && !isHarmful(threat))) continue;
    if (nextEntry === undefined) undecidedCount += 1;
    else reversedCount += 1;
    recipients.add(threat.recipient);
  }
  return { decidedCount, reversedCount, undecidedCount, ...countRecipients(recipients, base.vips) };
}
