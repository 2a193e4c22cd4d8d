import type { Guard, Plan } from "./plan";
import { OTHER_TENANT } from "./same-tenant";

/** Whether the key seems to be another tenant's than the plan is of. */
export function isOfAnother(plan: Pick<Plan, "guards">): boolean {
  return otherTenantGuards(plan).length > 0;
}

/** What says that the key seems to be another tenant's. */
export function otherTenantGuards({ guards }: Pick<Plan, "guards">): readonly Guard[] {
  return guards.filter(({ code }) => code === OTHER_TENANT);
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
    guards: otherTenantGuards(plan),
    changes: [],
    unmanaged: [],
    expired: [],
    findings: [],
    counts: { added: 0, changed: 0, removed: 0, unchanged: 0, unmanaged: 0 },
    evidence: { ...plan.evidence, threats: 0, reports: 0, complete: false, missing: [] },
  };
}
