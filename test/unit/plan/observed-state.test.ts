import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import { buildObservedState, getObservedIdentity, isObservedTenant } from "../../../provider/plan/observed-state";

const BASE_URL = "https://settings.example";
const AT = "2026-11-21T00:00:00.000Z";

const buildRow = (index: number, id: string = randomUUID()): AllowDenyEntryRow =>
  ({
    id,
    list: "deny",
    entry_type: "domain",
    value: `d${index}.example`,
    verdict_scope: "global",
    created_at: new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString(),
  }) as AllowDenyEntryRow;
const buildRows = (count: number, from = 0): AllowDenyEntryRow[] =>
  Array.from({ length: count }, (_, index) => buildRow(from + index));
const ceo = { email: "ceo@acme.example", source: "manual" } as VipEmployeeRow;

/** Returns whether the tenant with the current rows is recognized as the one with the earlier rows. */
function compareRows(
  earlier: readonly AllowDenyEntryRow[],
  current: readonly AllowDenyEntryRow[],
  vip?: VipEmployeeRow,
) {
  const vips = vip === undefined ? [] : [vip];
  return isObservedTenant(
    getObservedIdentity(BASE_URL, buildObservedState(AT, earlier, vips)),
    BASE_URL,
    buildObservedState(AT, current, vips),
  );
}

describe("isObservedTenant", () => {
  it("recognizes a tenant by a few of its entries among many others", () => {
    const earlier = buildRows(23);
    expect(compareRows(earlier, [...earlier.slice(0, 2), ...buildRows(400, 100)])).toBe(true);
  });

  it("recognizes a tenant by a VIP when all entries were replaced", () => {
    expect(compareRows(buildRows(23), buildRows(20, 100), ceo)).toBe(true);
  });

  it("recognizes a tenant by a VIP when all entries were removed", () => {
    expect(compareRows(buildRows(23), [], ceo)).toBe(true);
  });

  it("rejects a tenant that shares neither entries nor VIPs", () => {
    expect(compareRows(buildRows(23), buildRows(23, 100))).toBe(false);
  });
});
