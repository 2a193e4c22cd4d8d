import { describe, expect, it, test } from "vitest";
import type { TenantChange } from "../../../../provider/rollout/model/rollout-report";
import {
  getReportedTransition,
  rankTenantChange,
  sortTenantsByDanger,
} from "../../../../provider/rollout/report/change-danger";
import { ChangeTally } from "../../../../provider/rollout/report/shared-changes";
import { playRollout } from "../../../support/rollouts";

const buildEntryChange = (
  operation: TenantChange["operation"],
  list: string,
  more: Partial<TenantChange> = {},
): TenantChange => ({
  ...{ operation, kind: "entry", list, value: "a.example" },
  ...more,
});
const buildVipChange = (operation: TenantChange["operation"]): TenantChange => ({
  operation,
  kind: "vip",
  value: "ceo@acme.example",
});

describe("a reported change", () => {
  test.each<[change: TenantChange, from: string | undefined, to: string | undefined, rank: number]>([
    [buildEntryChange("change", "deny → allow"), "deny", "allow", 0],
    [buildEntryChange("add", "allow"), undefined, "allow", 1],
    [buildEntryChange("remove", "deny"), "deny", undefined, 1],
    [buildVipChange("remove"), "vip", undefined, 1],
    [buildEntryChange("change", "allow → deny"), "allow", "deny", 3],
    [buildEntryChange("change", "allow"), "allow", "allow", 3],
    [buildEntryChange("add", "deny"), undefined, "deny", 3],
    [buildEntryChange("add", "deny", { severity: "warning" }), undefined, "deny", 2],
    [buildEntryChange("add", "deny", { severity: "danger" }), undefined, "deny", 0],
    [buildVipChange("add"), undefined, "vip", 3],
  ])("has a list transition and danger rank: %j", (change, from, to, rank) => {
    expect(getReportedTransition(change)).toEqual({ from, to });
    expect(rankTenantChange(change)).toBe(rank);
  });
});

it("sorts tenants with the most dangerous changes first", () => {
  const { tenants } = playRollout({ tenants: 4 }).before;
  const [one, two, three, four] = tenants.map((tenant) => ({ ...tenant, changes: [buildEntryChange("add", "deny")] }));
  if (!one || !two || !three || !four) throw new Error("There are four tenants.");
  const worst = { ...three, changes: [buildEntryChange("add", "deny"), buildEntryChange("change", "deny → allow")] };
  expect(sortTenantsByDanger([one, two, worst, { ...four, changes: [] }]).map(({ name }) => name)).toEqual(
    [three, one, two, four].map(({ name }) => name),
  );
});

it("keeps dangerous changes beyond the size limit", () => {
  const tally = new ChangeTally(3);
  const denies = Array.from({ length: 3 }, (_, index) =>
    buildEntryChange("add", "deny", { value: `a${index}.example` }),
  );
  tally.add("t0", denies);
  tally.add("t1", [
    buildEntryChange("add", "deny", { value: "b.example" }),
    buildEntryChange("add", "allow", { value: "c.example" }),
  ]);
  expect(tally.changes.map(({ value }) => value)).toEqual(["c.example", "a0.example", "a1.example", "a2.example"]);
});
