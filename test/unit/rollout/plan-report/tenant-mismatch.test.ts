import { expect, it } from "vitest";
import type { Plan } from "../../../../provider/plan/plan";
import { RolloutCommands } from "../../../../provider/rollout/model/rollout-commands";
import type { Target } from "../../../../provider/rollout/model/target";
import { renderPlanOverviewText } from "../../../../provider/rollout/plan-report/plan-overview-text";
import { addMailSeverities } from "../../../../provider/rollout/plan-report/plan-summary-view";
import { buildTargetPlan, type PlanningContext } from "../../../../provider/rollout/planning/plan-target";
import { combinePlans, createDenyPlan } from "../../../support/combined-plans";

/* Reports about a tenant whose key seems to be another tenant's. They contain nothing that this tenant holds. */

const BLOCKER = { code: "other-tenant", message: "The key is another tenant's." };
const STACK = { state: {}, resource: "t1", exists: true, isPending: false, provider: "dynamic" } as const;
const SECRET = "secret.example";

function buildPlannedTarget(plan: Plan) {
  const known = { entries: { content: {} }, vips: { content: {} } };
  return buildTargetPlan(
    { name: "t1" } as Target,
    plan,
    { ...STACK, known },
    false,
    { acceptanceEnvironment: {} } as PlanningContext,
    { unreverted: [SECRET], drift: [SECRET], fingerprint: SECRET },
  );
}

it("stores only the refusal of a tenant with another tenant's key", () => {
  const { plannedTenant: own, changes } = buildPlannedTarget(createDenyPlan(SECRET));
  expect([changes.length, own.summary?.unreverted]).toEqual([1, [SECRET]]);
  // The removal guard's message names the entries.
  const removals = { code: "removal-guard", message: `It would lose 31 entries: ${SECRET}` };
  const stranger = buildPlannedTarget({ ...createDenyPlan(SECRET), blockers: [BLOCKER, removals] });
  expect(JSON.stringify(stranger)).not.toContain(SECRET);
  expect(stranger.blockers).toEqual([BLOCKER]);
  expect(stranger.plannedTenant.digest).toBe(own.digest);
  expect(JSON.parse(stranger.plannedTenant.plan ?? "").blockers).toEqual([BLOCKER]);
});

it("hides a tenant's data when only its mail reveals another tenant", () => {
  const { report, plannedRollout: whole } = combinePlans([createDenyPlan(SECRET)]);
  const tenants = report.tenants.map((tenant) => ({ ...tenant, unreverted: [SECRET], drift: [SECRET] }));
  const blockers = [{ tenant: "t0", blocker: BLOCKER }];
  const mail = { days: 30, candidateCount: 1, evidenceByTenant: new Map(), unavailable: [], blockers };
  const outputs = addMailSeverities({ ...report, tenants }, mail);
  expect(outputs.tenants[0]).toMatchObject({ planned: { added: 0, changed: 0, removed: 0 }, changes: [] });
  const text = renderPlanOverviewText(
    outputs,
    { ...whole, blockers, backend: "file", changes: [] },
    new RolloutCommands(),
  );
  expect(JSON.stringify(outputs) + text).not.toContain(SECRET);
  expect(text).toContain("✗ t0 [other-tenant]");
  // For a refused tenant, it is unknown whether it matches its declaration.
  expect(text).not.toContain("only the state of the stack");
});
