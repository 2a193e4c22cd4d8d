import type { Plan } from "./plan";
import { OTHER_TENANT } from "./same-tenant";

/** Whether the key seems to be another tenant's than the plan is of. */
export function isOfAnother({ guards }: Pick<Plan, "guards">): boolean {
  return guards.some(({ code }) => code === OTHER_TENANT);
}

/**
 * The plan as it may be shown: one whose key is somebody else's has nothing that is held there, since plans are shown to many. Other
 * guards name what would be removed.
 */
export function withheld(plan: Plan): Plan {
  if (!isOfAnother(plan)) return plan;
  const { backtest: _backtest, ...rest } = plan;
  return {
    ...rest,
    guards: plan.guards.filter(({ code }) => code === OTHER_TENANT),
    changes: [],
    unmanaged: [],
    expired: [],
    findings: [],
    counts: { added: 0, changed: 0, removed: 0, unchanged: 0, unmanaged: 0 },
    evidence: { ...plan.evidence, threats: 0, reports: 0, complete: false, missing: [] },
  };
}
