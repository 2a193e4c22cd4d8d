import type { Plan, PlanBlocker } from "./plan";
import { OTHER_TENANT_CODE } from "./tenant-mismatch";

/** Returns whether the key seems to belong to another tenant than the plan. */
export function isOtherTenantPlan(plan: Pick<Plan, "blockers">): boolean {
  return selectWrongTenantBlockers(plan).length > 0;
}

export function selectWrongTenantBlockers({ blockers }: Pick<Plan, "blockers">): readonly PlanBlocker[] {
  return blockers.filter(({ code }) => code === OTHER_TENANT_CODE);
}

/** Redacts a plan whose key seems to belong to another tenant: plans have many readers, and other blockers name the entries to remove. */
export function redactOtherTenantPlan(plan: Plan): Plan {
  if (!isOtherTenantPlan(plan)) return plan;
  const { backtest: _backtest, ...rest } = plan;
  return {
    ...rest,
    blockers: selectWrongTenantBlockers(plan),
    changes: [],
    unmanaged: [],
    expired: [],
    findings: [],
    counts: { added: 0, changed: 0, removed: 0, unchanged: 0, unmanaged: 0 },
    evidence: { ...plan.evidence, threats: 0, reports: 0, complete: false, missing: [] },
  };
}
