import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../../provider/client";
import { buildObservedState, getObservedIdentity, type ObservedState } from "../../../../provider/plan/observed-state";
import type { TenantSummary } from "../../../../provider/rollout/journal/rollout-record";
import {
  buildStableIdentity,
  getStableIdentity,
  mayEmptyTenant,
} from "../../../../provider/rollout/journal/stable-identity";
import { createIdentityComparator, isDifferentTenant } from "../../../../provider/rollout/targets/tenant-replacement";

const AT = "https://mail.example";
const NOW = "2026-11-21T00:00:00.000Z";

type Changes = Parameters<typeof buildStableIdentity>[2];

function buildRow(tenant: string, number: number, value = `evil${number}.example`): AllowDenyEntryRow {
  return {
    id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-00000000000${number}`,
    list: "deny",
    entry_type: "domain",
    value,
    verdict_scope: "global",
    created_at: "2026-11-02T09:00:00Z",
  } as AllowDenyEntryRow;
}

const buildRows = (tenant: string, ...numbers: number[]) => numbers.map((number) => buildRow(tenant, number));
const buildObserved = (entries: readonly AllowDenyEntryRow[], ...vips: VipEmployeeRow[]): ObservedState =>
  buildObservedState(NOW, entries, vips);
const buildChange = (operation: "add" | "change" | "remove", value: string, kind: "entry" | "vip" = "entry") =>
  ({ operation, kind, key: value, value }) as Changes[number];

const CEO = { email: "ceo@acme.example", source: "manual" } as VipEmployeeRow;
const BEFORE = buildObserved(buildRows("own", 0, 1, 2), CEO);

/** Returns whether a tenant is refused after a rollout with these changes was interrupted there. */
async function isRefused(changes: Changes, before: ObservedState, now: ObservedState): Promise<boolean> {
  const identity = getObservedIdentity(AT, before);
  const stableIdentity = buildStableIdentity(AT, before, changes);
  const countChanges = (operation: string) => changes.filter((change) => change.operation === operation).length;
  const planned = { added: countChanges("add"), changed: countChanges("change"), removed: countChanges("remove") };
  const summary = { planned, identity, ...(stableIdentity && { stableIdentity }) } as TenantSummary;
  const known = getStableIdentity(summary);
  const remembered = { stack: "t", name: "t", rollout: "r", seq: 1, identity, isInterrupted: true };
  return await isDifferentTenant(
    {
      ...remembered,
      ...(known && { stableIdentity: known }),
      readEarlierIdentities: async () => [{ order: [1, 0], identity }],
    },
    createIdentityComparator(AT, now),
  );
}

describe("a partially changed tenant", () => {
  const OTHER = buildObserved(buildRows("other", 0, 1, 2));

  it.each<[label: string, changes: Changes]>([
    ["adds", [buildChange("add", "new.example")]],
    ["removes some entries", [buildChange("remove", "evil0.example"), buildChange("remove", "evil1.example")]],
    ["replaces all entries", [0, 1, 2].map((number) => buildChange("change", `evil${number}.example`))],
    ["removes the only VIP", [buildChange("remove", "ceo@acme.example", "vip")]],
  ])("is still recognized if the plan %s", async (_label, changes) => {
    expect(await isRefused(changes, BEFORE, OTHER)).toBe(true);
    expect(await isRefused(changes, BEFORE, BEFORE)).toBe(false);
    const removedValues = new Set(changes.filter(({ operation }) => operation !== "add").map(({ value }) => value));
    const remainingRows = buildRows("own", 0, 1, 2).filter(({ value }) => !removedValues.has(value));
    const vips = removedValues.has("ceo@acme.example") ? [] : [CEO];
    const replaced = [...remainingRows, buildRow("new", 9, "new.example")];
    expect(await isRefused(changes, BEFORE, buildObserved(replaced, ...vips))).toBe(false);
  });

  it("accepts any tenant if the plan touches all identifying rows", async () => {
    const changes = [buildChange("remove", "evil0.example"), buildChange("change", "evil1.example")];
    expect(await isRefused(changes, buildObserved(buildRows("own", 0, 1)), OTHER)).toBe(false);
  });
});

it("keeps under 600 bytes of the rows a plan doesn't touch", () => {
  const many = Array.from({ length: 500 }, (_, number) => buildRow("own", number));
  const stableIdentity = buildStableIdentity(AT, buildObserved(many, CEO), [buildChange("remove", "evil0.example")]);
  expect(JSON.stringify(stableIdentity).length).toBeLessThan(600);
});

describe("an interrupted attempt", () => {
  it.each([
    { planned: { added: 0, changed: 0, removed: 3 }, mayEmpty: true },
    { planned: { added: 1, changed: 0, removed: 3 }, mayEmpty: false },
    { planned: { added: 0, changed: 1, removed: 3 }, mayEmpty: false },
    // Untouched content stays.
    { planned: { added: 0, changed: 0, removed: 2 }, stableIdentity: getObservedIdentity(AT, BEFORE), mayEmpty: false },
  ])("leaves a tenant empty or not: $planned", ({ mayEmpty, ...summary }) => {
    expect(mayEmptyTenant(summary as TenantSummary)).toBe(mayEmpty);
  });
});
