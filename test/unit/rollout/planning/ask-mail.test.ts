import { expect, test } from "vitest";
import type { Plan } from "../../../../provider/plan/plan";
import type { Journal } from "../../../../provider/rollout/journal/journal";
import { askMail } from "../../../../provider/rollout/planning/ask-mail";
import { dangerousPlan, emptyPlan } from "../../../support/plans";
import { denies } from "../../../support/whole-plans";

const STRANGER = { code: "other-tenant", message: "It is another's." };

/** Asks the mail of tenants with these plans, which say this when they are made once more. */
async function asked(plans: Readonly<Record<string, Plan>>, again: (tenant: string) => Plan) {
  const journal: Pick<Journal, "tenants" | "plan"> = {
    tenants: async () => Object.entries(plans).map(([name, { digest }]) => ({ name, digest }) as never),
    plan: async (_, name) => JSON.stringify(plans[name]),
  };
  const read: string[] = [];
  const mail = await askMail(journal, "r", {
    mail: "all",
    concurrency: 2,
    planWithMail: async (tenant) => {
      read.push(tenant);
      return again(tenant);
    },
    why: (tenant, error) => `${tenant}: ${(error as Error).message}`,
    onProgress: undefined,
  });
  return { ...mail, read };
}

test("asks no tenant that its key seems not to be of, and none to which nothing changes", async () => {
  const plans = { a: denies("x.example"), b: { ...denies("x.example"), guards: [STRANGER] }, c: emptyPlan };
  const { read, of, said, silent } = await asked(plans, () => plans.a);
  expect([read, of, [...said.keys()], silent]).toEqual([["a"], 1, ["a"], []]);
});

test("refuses a tenant of which only its mail tells that it is another, and says nothing of its mail", async () => {
  const plan = denies("x.example");
  const { said, silent, guards } = await asked({ a: plan, b: plan }, (tenant) =>
    tenant === "b" ? { ...plan, guards: [STRANGER] } : plan,
  );
  expect([...said.keys()]).toEqual(["a"]);
  expect(silent).toEqual([{ tenant: "b", why: "By its key it is another tenant, as it seems." }]);
  expect(guards).toEqual([{ tenant: "b", guard: STRANGER }]);
});

test("tells no mail of a plan that is not the one that was made, and why a tenant could not be asked", async () => {
  const plan = denies("x.example");
  const { said, silent } = await asked({ a: plan, b: plan }, (tenant) => {
    if (tenant === "a") return { ...plan, digest: "another" };
    throw new Error("down");
  });
  expect(said.size).toBe(0);
  expect(silent).toEqual([
    { tenant: "a", why: "It, or its files, changed while it was planned." },
    { tenant: "b", why: "b: down" },
  ]);
});

test("keeps of a plan what its mail says, and how bad it looks by it", async () => {
  const plan = { ...dangerousPlan, guards: [] };
  const { said, days } = await asked({ a: plan }, () => plan);
  const { alarms, changes } = said.get("a") ?? {};
  expect([days, alarms]).toEqual([30, { danger: 1, accepted: 0, warning: 1 }]);
  const facts = [...(changes?.values() ?? [])].flatMap((change) => change.facts);
  expect(facts.length).toBeGreaterThan(0);
  expect(new Set(facts.map(({ label }) => label))).toEqual(new Set(["mail", "details", "reports", "backtest"]));
});
