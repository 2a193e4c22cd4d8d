import type { Change } from "../../plan/plan";

/** A tenant whose mail may be searched. */
export interface MailCandidate {
  readonly name: string;
  /** The weights (from 1) of the changes that its mail can provide evidence for. The key is equal for the same change of two tenants. */
  readonly changes: ReadonlyMap<string, number>;
}

/**
 * Chooses the tenants whose mail is searched. Each choice adds the most weight of changes that no chosen tenant covers yet. Once all
 * changes are covered, the remaining tenants are spread evenly over the list, because every tenant receives different mail. The same plans
 * always give the same sample.
 *
 * @param most the maximum number of tenants. All candidates are chosen if they don't exceed it.
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

/** The weight of mail evidence for a change; 0 if mail can't provide any. */
export function mailWeight({
  entryType,
  before,
  after,
  alarm,
}: Pick<Change, "entryType" | "before" | "after" | "alarm">): number {
  if (entryType === "ip") return 0;
  return after?.list === "allow" || before?.list === "deny" || alarm !== "none" ? 10 : 1;
}
