import fc from "fast-check";
import { expect, test } from "vitest";
import { RolloutCommands } from "../../../../provider/rollout/model/rollout-commands";
import type { RolloutReport, TenantChange } from "../../../../provider/rollout/model/rollout-report";
import { renderPlanOverviewText } from "../../../../provider/rollout/plan-report/plan-overview-text";
import { ChangeTally } from "../../../../provider/rollout/report/shared-changes";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import { countStates, rollouts } from "../../../support/rollouts";

/** Returns the overview of plans. The report keeps the first 20 changes of each plan. */
function renderOverview(plans: readonly (readonly TenantChange[])[], most?: number): string {
  const tally = new ChangeTally(most);
  const [blank] = rollouts.small.before.tenants;
  const [wave] = rollouts.small.before.waves;
  if (blank === undefined || wave === undefined) throw new Error("no tenant");
  const tenants = plans.map((changes, index) => {
    tally.add(`t${index}`, changes);
    const countByOperation = (operation: TenantChange["operation"]) =>
      changes.filter((change) => change.operation === operation).length;
    return {
      ...blank,
      name: `t${index}`,
      wave: wave.name,
      state: "pending" as const,
      planned: {
        added: countByOperation("add"),
        changed: countByOperation("change"),
        removed: countByOperation("remove"),
      },
      changes: changes.slice(0, 20),
    };
  });
  const counts = countStates(tenants);
  const report: RolloutReport = {
    ...rollouts.small.before,
    counts,
    tenants,
    waves: [{ ...wave, tenants: tenants.length, counts }],
  };
  const planned = { blockers: [], backend: "file:///state", changes: tally.changes };
  return renderPlanOverviewText(report, planned, new RolloutCommands());
}

const NO_PLAN = { blockers: [], backend: "file:///state", changes: [] };

const buildDeny = (value: string, severity?: "danger" | "warning"): TenantChange => ({
  operation: "add",
  kind: "entry",
  list: "deny",
  value,
  ...(severity === undefined ? {} : { severity }),
});

const buildDenies = (count: number, label: string) =>
  Array.from({ length: count }, (_, n) => buildDeny(`${label}${n}.example`));

test("counts a change in every tenant, beyond what a report keeps", () => {
  const shared = buildDeny("evil.example");
  const plans = [...Array.from({ length: 6 }, () => [shared]), [...buildDenies(30, "own"), shared]];
  const text = renderOverview(plans);
  expect(text).toContain("+ deny evil.example in all 7 tenants\n");
  // 37 changes, of which 7 + 19 are shown.
  expect(text.replaceAll(/\s+/g, " ")).toContain(
    "… and 11 more changes, counted in each tenant, none of them a new allow, a removed deny or a removed VIP. All of one tenant: ",
  );
  expect(text).toContain("    email-security rollout tenants.yaml --only t6\n");
});

test("counts a change in many tenants once", () => {
  const text = renderOverview([
    [buildDeny("a.example", "danger")],
    [buildDeny("a.example")],
    [buildDeny("b.example", "warning")],
  ]);
  expect(text).toContain("+ deny a.example in 2 tenants (a risk in 1 of them)\n");
  expect(text).toContain("+ deny b.example in t2 (a warning)\n");
});

test("counts two identical-looking entries of one tenant as two changes", () => {
  const text = renderOverview([[buildDeny("a.example"), buildDeny("a.example")], []]);
  expect(text.match(/\+ deny a\.example in t0$/gm)).toHaveLength(2);
});

test("lists every change of a single tenant", () => {
  const text = renderOverview([buildDenies(500, "own")], 10);
  expect(text.match(/^ {2}\+ deny own\d+\.example in t0$/gm)).toHaveLength(500);
  expect(text).not.toMatch(/more/);
});

test("accounts for every change, listed or omitted", () => {
  const plan = fc.uniqueArray(fc.nat(60), { maxLength: 45 });
  fc.assert(
    fc.property(fc.array(plan, { minLength: 2, maxLength: 12 }), fc.integer({ min: 1, max: 80 }), (all, most) => {
      const text = renderOverview(
        all.map((values) => values.map((value) => buildDeny(`v${value}.example`))),
        most,
      );
      const lines = [...text.matchAll(/\+ deny v(\d+)\.example in (?:t\d+$|(?:all )?(\d+) tenants)/gm)];
      for (const [line, value, count = "1"] of lines) {
        expect(all.filter((values) => values.includes(Number(value))).length, line).toBe(Number(count));
      }
      const listedTotal = lines.reduce((sum, [, , count = "1"]) => sum + Number(count), 0);
      const more = Number(/… and ([\d,]+) more change/.exec(text)?.[1]?.replace(",", "") ?? 0);
      expect(listedTotal + more).toBe(all.flat().length);
    }),
  );
});

test("shows which address receives which keys, grouping similar ones", () => {
  expect(renderPlanOverviewText(rollouts.large.before, NO_PLAN, new RolloutCommands())).toContain(
    [
      "Keys",
      "",
      ...[0, 1, 2, 3].map(
        (number) =>
          `  · https://mail-security-${number}.example receives the keys of 250 tenants, from the\n    environment variable {NAME}_KEY`,
      ),
      "\n",
    ].join("\n"),
  );
  const [first, second] = rollouts.small.before.tenants.map((tenant) => ({
    ...tenant,
    address: "https://mail-security.example",
  }));
  if (first === undefined || second === undefined) throw new Error("no tenants");
  const tenants = [first, { ...second, keySource: 'the file "/run/secrets/globex"' }];
  expect(
    renderPlanOverviewText({ ...rollouts.small.before, tenants }, NO_PLAN, new RolloutCommands(), {
      width: 200,
    }),
  ).toContain(
    `Keys

  · https://mail-security.example receives the key of acme-000, from the environment variable ACME_000_KEY
  · https://mail-security.example receives the key of globex-001, from the file "/run/secrets/globex"
`,
  );
});

test("lists the changes of a drift revert by tenant", () => {
  const { tenants, ...report } = rollouts.middle.before;
  const driftTenants = tenants.map((tenant, index) =>
    index < 8
      ? {
          ...tenant,
          unreverted: ["1 that nobody declares"],
          ...(index === 0 ? { drift: [`deny a: ${Object.values(HOSTILE).join(" ")}`] } : {}),
        }
      : tenant,
  );
  const text = renderPlanOverviewText(
    { ...report, tenants: driftTenants, mode: "revert-drift" },
    NO_PLAN,
    new RolloutCommands(),
    { width: 200 },
  );
  expect(text).toContain("it only reverts drift");
  expect(text).toContain("unchanged");
  expect(text).not.toContain("what is declared");
  const names = tenants.slice(0, 5).map(({ name }) => name);
  expect(text).toContain(`  · ${names.join(", ")} and 3 more: 1 that nobody declares`);
  expect(text).toContain("Reverted\n");
  expect(findTerminalCommands(text)).toEqual([]);
});
