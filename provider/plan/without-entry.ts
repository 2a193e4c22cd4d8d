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
  const own = entries.find((entry) => entry.key === key);
  if (base.threats === undefined || own === undefined || own.entryType === "ip") return undefined;
  const deciders = new Deciders(entries);
  const recipients = new Tally();
  let [decided, otherwise, notKnown] = [0, 0, 0];
  for (const threat of base.threats) {
    const [decider, next] = deciders.of(threat);
    if (decider !== own) continue;
    decided += 1;
    // The entry had no effect on this message.
    if (fateOf(threat) !== (own.list === "deny" ? "stopped" : "delivered")) continue;
    if (next?.list === own.list || (own.list === "deny" && !isHarmful(threat))) continue;
    if (next === undefined) notKnown += 1;
    else otherwise += 1;
    recipients.add(threat.recipient);
  }
  return { decided, otherwise, notKnown, ...recipientsOf(recipients, base.vips) };
}
