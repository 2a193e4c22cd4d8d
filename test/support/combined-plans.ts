import type { Plan, PlanChange } from "../../provider/plan/plan";
import { CombinedPlanBuilder } from "../../provider/rollout/plan-report/combined-plan";
import type { PlanSummaryInput } from "../../provider/rollout/plan-report/plan-summary-view";
import type { MailSearchResult } from "../../provider/rollout/planning/search-tenant-mail";
import { emptyPlan } from "./plans";
import { countStates, playRollout } from "./rollouts";

/** Renders these plans, one per tenant; undefined for a tenant that can't be planned. */
export function combinePlans(
  plans: readonly (Plan | undefined)[],
  { text = "", mail }: { readonly text?: string; readonly mail?: MailSearchResult } = {},
): PlanSummaryInput {
  const { before } = playRollout({ tenants: plans.length, text, unchangedEvery: 0 });
  const maker = new CombinedPlanBuilder();
  const tenants = before.tenants.map((tenant, index) => {
    const name = `t${index}`;
    const plan = plans[index];
    const none = { added: 0, changed: 0, removed: 0 };
    if (plan === undefined) {
      const message = `${name} can't be read. ${text}`;
      const error = { code: "ERR_AUTH", message, advice: `Fix it ${text}`, phase: "plan" } as const;
      return { ...tenant, name, state: "failed", planned: none, error, overrides: [text] } as const;
    }
    maker.add(name, plan);
    const { added, changed, removed } = plan.counts;
    const state = plan.changes.length > 0 ? "pending" : "unchanged";
    return { ...tenant, name, state, planned: { added, changed, removed } } as const;
  });
  const blockers = plans.flatMap((plan, index) =>
    (plan?.blockers ?? []).map((blocker) => ({ tenant: `t${index}`, blocker })),
  );
  return {
    report: { ...before, tenants, counts: countStates(tenants) },
    plannedRollout: { blockers, ...(mail === undefined ? {} : { mail }) },
    combinedPlan: maker.build(plans.length),
  };
}

/** Builds a plan of exactly these denies, each on its own line of the baseline. */
export function createDenyPlan(...values: readonly string[]): Plan {
  const changes = values.map(
    (value, index): PlanChange => ({
      operation: "add",
      kind: "entry",
      key: value,
      value,
      entryType: "domain",
      after: { list: "deny", comment: "Phishing" },
      ticket: "INC-7",
      place: { file: "settings/baseline.yaml", line: index + 2, column: 5 },
      findings: [],
      severity: "none",
    }),
  );
  return { ...emptyPlan, changes, counts: { ...emptyPlan.counts, added: changes.length } };
}
