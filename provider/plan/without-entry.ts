import { Deciders, type ProposedEntry } from "./deciders";
import type { EvidenceBase } from "./evidence";
import type { WithoutEntry } from "./plan-schema";
import { fateOf, isHarmful } from "./seen-mail";
import { recipientsOf, Tally } from "./tally";

/**
 * Replays the threats without an entry, by the assumptions of `backtest`.
 *
 * @param entries the whole list, that entry among them.
 * @param key of the entry, as in a keyed list.
 * @returns undefined where nothing can be said: of IP addresses, or where no threats could be read.
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
    // What this entry did not do would not change without it.
    if (fateOf(threat) !== (own.list === "deny" ? "stopped" : "delivered")) continue;
    if (next?.list === own.list || (own.list === "deny" && !isHarmful(threat))) continue;
    if (next === undefined) notKnown += 1;
    else otherwise += 1;
    recipients.add(threat.recipient);
  }
  return { decided, otherwise, notKnown, ...recipientsOf(recipients, base.vips) };
}
