import { Deciders, type ProposedEntry } from "./deciders";
import type { EvidenceBase } from "./evidence";
import type { WithoutEntry } from "./plan-schema";
import { fateOf, isHarmful } from "./seen-mail";
import { recipientsOf, Tally } from "./tally";

/**
 * Replays the threats without an entry, with the assumptions of `backtest`.
 *
 * @param entries the whole list, including the entry.
 * @param key the key of the entry in the encoded list.
 * @returns undefined for IP addresses, or if no threats could be read.
 */
export function withoutEntry(
  base: EvidenceBase,
  entries: readonly ProposedEntry[],
  key: string,
): WithoutEntry | undefined {
  const entry = entries.find((entry) => entry.key === key);
  if (base.threats === undefined || entry === undefined || entry.entryType === "ip") return undefined;
  const precedence = new Deciders(entries);
  const recipients = new Tally();
  let [decided, otherwise, notKnown] = [0, 0, 0];
  for (const threat of base.threats) {
    const [decidingEntry, nextEntry] = precedence.of(threat);
    if (decidingEntry !== entry) continue;
    decided += 1;
    // The entry had no effect on this message.
    if (fateOf(threat) !== (entry.list === "deny" ? "stopped" : "delivered")) continue;
    if (nextEntry?.list === entry.list || (entry.list === "deny" && !isHarmful(threat))) continue;
    if (nextEntry === undefined) notKnown += 1;
    else otherwise += 1;
    recipients.add(threat.recipient);
  }
  return { decided, otherwise, notKnown, ...recipientsOf(recipients, base.vips) };
}
