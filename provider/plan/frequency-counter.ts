import type { NamedCount, RecipientCount } from "./plan";

const MAX_RECIPIENTS = 10;

export class FrequencyCounter {
  readonly #counts = new Map<string, number>();

  add(name: string | undefined): void {
    if (name !== undefined) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  get size(): number {
    return this.#counts.size;
  }

  getCounts(): NamedCount[] {
    return Array.from(this.#counts, ([name, count]) => ({ name, count })).sort(compareByCount);
  }
}

/** Returns recipients, VIPs first, then by count; at most 10, with the total counts. */
export function countRecipients(
  counter: FrequencyCounter,
  vips: ReadonlySet<string>,
): { recipients: RecipientCount[]; recipientCount: number; vipCount: number } {
  const recipientCounts = counter.getCounts().map(({ name, count }) => ({ email: name, isVip: vips.has(name), count }));
  const recipients = [
    ...recipientCounts.filter(({ isVip }) => isVip),
    ...recipientCounts.filter(({ isVip }) => !isVip),
  ];
  return {
    recipients: recipients.slice(0, MAX_RECIPIENTS),
    recipientCount: recipientCounts.length,
    vipCount: recipientCounts.filter(({ isVip }) => isVip).length,
  };
}

function compareByCount(a: NamedCount, b: NamedCount): number {
  return b.count - a.count || (a.name < b.name ? -1 : 1);
}
