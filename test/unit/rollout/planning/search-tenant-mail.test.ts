import { expect, test } from "vitest";
import type { Plan } from "../../../../provider/plan/plan";
import type { Journal } from "../../../../provider/rollout/journal/journal";
import { searchTenantMail } from "../../../../provider/rollout/planning/search-tenant-mail";
import { createDenyPlan } from "../../../support/combined-plans";
import { dangerousPlan, emptyPlan } from "../../../support/plans";

const STRANGER = { code: "other-tenant", message: "It is another's." };

/** Searches the mail of tenants with these plans; `again` returns the plan when a tenant is planned a second time. */
async function searchMail(plans: Readonly<Record<string, Plan>>, again: (tenant: string) => Plan) {
  const journal: Pick<Journal, "listTenants" | "readPlan"> = {
    listTenants: async () => Object.entries(plans).map(([name, { digest }]) => ({ name, digest }) as never),
    readPlan: async (_, name) => JSON.stringify(plans[name]),
  };
  const read: string[] = [];
  const mail = await searchTenantMail(journal, "r", {
    mail: "all",
    concurrency: 2,
    planWithEvidence: async (tenant) => {
      read.push(tenant);
      return again(tenant);
    },
    describeError: (tenant, error) => `${tenant}: ${(error as Error).message}`,
    onProgress: undefined,
  });
  return { ...mail, read };
}

test("doesn't query tenants with another tenant's key or without changes", async () => {
  const plans = {
    a: createDenyPlan("x.example"),
    b: { ...createDenyPlan("x.example"), blockers: [STRANGER] },
    c: emptyPlan,
  };
  const { read, candidateCount, evidenceByTenant, unavailable } = await searchMail(plans, () => plans.a);
  expect([read, candidateCount, [...evidenceByTenant.keys()], unavailable]).toEqual([["a"], 1, ["a"], []]);
});

test("blocks a tenant that only its mail identifies as another", async () => {
  const plan = createDenyPlan("x.example");
  const { evidenceByTenant, unavailable, blockers } = await searchMail({ a: plan, b: plan }, (tenant) =>
    tenant === "b" ? { ...plan, blockers: [STRANGER] } : plan,
  );
  expect([...evidenceByTenant.keys()]).toEqual(["a"]);
  expect(unavailable).toEqual([{ tenant: "b", reason: "Its key seems to belong to a different tenant." }]);
  expect(blockers).toEqual([{ tenant: "b", blocker: STRANGER }]);
});

test("reports no mail for a stale plan or an unreachable tenant", async () => {
  const plan = createDenyPlan("x.example");
  const { evidenceByTenant, unavailable } = await searchMail({ a: plan, b: plan }, (tenant) => {
    if (tenant === "a") return { ...plan, digest: "another" };
    throw new Error("down");
  });
  expect(evidenceByTenant.size).toBe(0);
  expect(unavailable).toEqual([
    { tenant: "a", reason: "The tenant or its files changed during planning." },
    { tenant: "b", reason: "b: down" },
  ]);
});

test("keeps a plan's mail evidence", async () => {
  const plan = { ...dangerousPlan, blockers: [] };
  const { evidenceByTenant, days } = await searchMail({ a: plan }, () => plan);
  const { severities, changes } = evidenceByTenant.get("a") ?? {};
  expect([days, severities]).toEqual([30, { danger: 1, accepted: 0, warning: 1 }]);
  const facts = [...(changes?.values() ?? [])].flatMap((change) => change.facts);
  expect(facts.length).toBeGreaterThan(0);
  expect(new Set(facts.map(({ label }) => label))).toEqual(new Set(["mail", "actions", "reports", "backtest"]));
});
