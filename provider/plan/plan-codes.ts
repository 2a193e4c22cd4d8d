import type { Finding } from "../settings-files/finding";

/** The codes of the findings that only a plan reports. */
export const PLAN_FINDING_CODES = [
  "existing-allow",
  "own-domains-missing",
  "pruning-deferred",
  "expired-kept",
  "contradicted",
  "other-scope",
  "vip-kept",
] as const;

/** A finding of the comparison with the tenant. */
export interface PlanFinding extends Finding {
  readonly code: (typeof PLAN_FINDING_CODES)[number];
}

/** The codes of blockers. Another code of a blocker is the name of a list option. */
export const PLAN_BLOCKER_CODES = ["removal-guard", "exists", "preview", "other-tenant"] as const;

export type PlanBlockerCode = (typeof PLAN_BLOCKER_CODES)[number];
