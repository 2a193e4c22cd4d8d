import type { Change } from "../../plan/plan";

/** A tenant whose mail may be asked. */
export interface MailCandidate {
  readonly name: string;
  /** What its mail can speak of, each by what makes it the same change in another tenant; with how much that matters, from 1. */
  readonly changes: ReadonlyMap<string, number>;
}

/**
 * Whose mail is asked: those tenants in which the most that matters changes and no other of them speaks of; once all is spoken of,
 * some from all over the list, since each tenant's mail is its own. The same for the same plans.
 *
 * @param most so many at most; all where they are no more.
 * @returns names, in the order of the candidates.
 */
export function mailSample(candidates: readonly MailCandidate[], most: number): readonly string[] {
  const left = new Set(candidates.filter(({ changes }) => changes.size > 0));
  if (left.size <= most) return [...left].map(({ name }) => name);
  const spokenOf = new Set<string>();
  const chosen = new Set<string>();
  const take = (one: MailCandidate): void => {
    left.delete(one);
    chosen.add(one.name);
    for (const key of one.changes.keys()) spokenOf.add(key);
  };
  while (chosen.size < most) {
    let best: MailCandidate | undefined;
    let worth = 0;
    for (const one of left) {
      let own = 0;
      for (const [key, weight] of one.changes) if (!spokenOf.has(key)) own += weight;
      if (own > worth) [best, worth] = [one, own];
    }
    if (best === undefined) break;
    take(best);
  }
  const others = [...left];
  const places = most - chosen.size;
  for (let at = 0; at < places; at += 1) {
    const one = others[Math.floor(((at + 0.5) * others.length) / places)];
    if (one !== undefined) take(one);
  }
  return candidates.filter(({ name }) => chosen.has(name)).map(({ name }) => name);
}

/** How much it matters what the mail says of a change; 0 where it can say nothing. */
export function mailWeight({
  entryType,
  before,
  after,
  alarm,
}: Pick<Change, "entryType" | "before" | "after" | "alarm">): number {
  if (entryType === "ip") return 0;
  return after?.list === "allow" || before?.list === "deny" || alarm !== "none" ? 10 : 1;
}
