import type { Count, Recipient } from "./plan";

const SHOWN_RECIPIENTS = 10;

/** Counts by name. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string | undefined): void {
    if (name !== undefined) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** How many names there are. */
  get size(): number {
    return this.#counts.size;
  }

  /** The most frequent first, and by name where equal. */
  counts(): Count[] {
    return Array.from(this.#counts, ([name, count]) => ({ name, count })).sort(byCount);
  }
}

/** Whom messages went to: VIPs first, then by count; at most 10, with how many there are in all. */
export function recipientsOf(
  tally: Tally,
  vips: ReadonlySet<string>,
): { recipients: Recipient[]; recipientCount: number; vipCount: number } {
  const all = tally.counts().map(({ name, count }) => ({ email: name, isVip: vips.has(name), count }));
  const recipients = [...all.filter(({ isVip }) => isVip), ...all.filter(({ isVip }) => !isVip)];
  return {
    recipients: recipients.slice(0, SHOWN_RECIPIENTS),
    recipientCount: all.length,
    vipCount: all.filter(({ isVip }) => isVip).length,
  };
}

function byCount(one: Count, other: Count): number {
  return other.count - one.count || (one.name < other.name ? -1 : 1);
}
