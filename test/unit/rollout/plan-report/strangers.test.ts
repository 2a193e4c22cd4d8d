import { expect, it } from "vitest";
import type { Plan } from "../../../../provider/plan/plan";
import { RolloutCommands } from "../../../../provider/rollout/model/commands";
import type { Target } from "../../../../provider/rollout/model/target";
import { overviewText } from "../../../../provider/rollout/plan-report/overview-text";
import { withMail } from "../../../../provider/rollout/plan-report/told-whole";
import { type PlanningContext, targetPlan } from "../../../../provider/rollout/planning/plan-target";
import { denies, shownOf } from "../../../support/whole-plans";

/* What is told of a tenant whose key seems to be another tenant's: that, and nothing that it holds. */

const GUARD = { code: "other-tenant", message: "The key is another tenant's." };
const STACK = { state: {}, resource: "t1", isThere: true, isPending: false, front: "dynamic" } as const;
const SECRET = "secret.example";

function planned(plan: Plan) {
  const known = { entries: { content: {} }, vips: { content: {} } };
  return targetPlan({ name: "t1" } as Target, plan, { ...STACK, known }, false, { accepting: {} } as PlanningContext, {
    left: [SECRET],
    drift: [SECRET],
    fingerprint: SECRET,
  });
}

it("a tenant's part of a rollout has nothing of another tenant, whatever the rollout is for", () => {
  const { planned: own, changes } = planned(denies(SECRET));
  expect([changes.length, own.summary?.left]).toEqual([1, [SECRET]]);
  // What keeps many removals back names them.
  const removals = { code: "removal-guard", message: `It would lose 31 entries: ${SECRET}` };
  const stranger = planned({ ...denies(SECRET), guards: [GUARD, removals] });
  expect(JSON.stringify(stranger)).not.toContain(SECRET);
  expect(stranger.guards).toEqual([GUARD]);
  expect(stranger.planned.digest).toBe(own.digest);
  expect(JSON.parse(stranger.planned.plan ?? "").guards).toEqual([GUARD]);
});

it("where only the mail tells it, the report has nothing of it either", () => {
  const { report, planned: whole } = shownOf([denies(SECRET)]);
  const tenants = report.tenants.map((tenant) => ({ ...tenant, left: [SECRET], drift: [SECRET] }));
  const guards = [{ tenant: "t0", guard: GUARD }];
  const mail = { days: 30, of: 1, said: new Map(), silent: [], guards };
  const shown = withMail({ ...report, tenants }, mail);
  expect(shown.tenants[0]).toMatchObject({ planned: { added: 0, changed: 0, removed: 0 }, changes: [] });
  const text = overviewText(shown, { ...whole, guards, backend: "file", changes: [] }, new RolloutCommands());
  expect(JSON.stringify(shown) + text).not.toContain(SECRET);
  expect(text).toContain("✗ t0 [other-tenant]");
  // Of what is refused, nobody knows whether it holds what is declared.
  expect(text).not.toContain("only the state of the stack");
});
