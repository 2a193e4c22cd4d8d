import type { Guard, Plan } from "./plan";
import { OTHER_TENANT } from "./same-tenant";

/** Returns whether the key seems to belong to another tenant than the plan. */
export function isOfAnother(plan: Pick<Plan, "guards">): boolean {
  return otherTenantGuards(plan).length > 0;
}

/** Returns the blockers for a key of another tenant. */
export function otherTenantGuards({ guards }: Pick<Plan, "guards">): readonly Guard[] {
  return guards.filter(({ code }) => code === OTHER_TENANT);
}

/** Redacts a plan whose key seems to belong to another tenant: plans have many readers, and other blockers name the entries to remove. */
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
