import type { PlanChange } from "../../plan/plan";

export interface MailCandidate {
  readonly name: string;
  /** The weights (from 1) of the changes that its mail can provide evidence for. The key is equal for the same change of two tenants. */
  readonly changeWeights: ReadonlyMap<string, number>;
}

/**
 * Chooses the tenants whose mail is searched. Each choice adds the most weight of changes that no chosen tenant covers yet. Once all
 * changes are covered, the remaining tenants are spread evenly over the list, because every tenant receives different mail. The same plans
 * always give the same sample.
 *
 * @param maxTenants the maximum number of tenants. All candidates are chosen if they don't exceed it.
 * @returns names, in the order of the candidates.
 */
export function chooseMailSample(candidates: readonly MailCandidate[], maxTenants: number): readonly string[] {
  const remaining = new Set(candidates.filter(({ changeWeights }) => changeWeights.size > 0));
  if (remaining.size <= maxTenants) return [...remaining].map(({ name }) => name);
  const coveredChanges = new Set<string>();
  const chosen = new Set<string>();
  const choose = (candidate: MailCandidate): void => {
    remaining.delete(candidate);
    chosen.add(candidate.name);
    for (const key of candidate.changeWeights.keys()) coveredChanges.add(key);
  };
  while (chosen.size < maxTenants) {
    let best: MailCandidate | undefined;
    let bestWeight = 0;
    for (const candidate of remaining) {
      let candidateWeight = 0;
      for (const [key, weight] of candidate.changeWeights) if (!coveredChanges.has(key)) candidateWeight += weight;
      if (candidateWeight > bestWeight) [best, bestWeight] = [candidate, candidateWeight];
    }
    if (best === undefined) break;
    choose(best);
  }
  const remainingCandidates = [...remaining];
  const freeSlots = maxTenants - chosen.size;
  for (let position = 0; position < freeSlots; position += 1) {
    const candidate = remainingCandidates[Math.floor(((position + 0.5) * remainingCandidates.length) / freeSlots)];
    if (candidate !== undefined) choose(candidate);
  }
  return candidates.filter(({ name }) => chosen.has(name)).map(({ name }) => name);
}

/** Returns the weight of mail evidence for a change. 0 if mail can't provide any. */
export function getMailWeight({
  entryType,
  before,
  after,
  severity,
}: Pick<PlanChange, "entryType" | "before" | "after" | "severity">): number {
  if (entryType === "ip") return 0;
  return after?.list === "allow" || before?.list === "deny" || severity !== "none" ? 10 : 1;
}
