import { expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../../provider/client";
import { buildTenantIdentity } from "../../../../provider/model/tenant-identity";
import { buildObservedState } from "../../../../provider/plan/observed-state";
import type { IdentityRecord } from "../../../../provider/rollout/targets/tenant-conflicts";
import { chooseTenantStack } from "../../../../provider/rollout/tenants/choose-tenant-stack";
import type { TenantPlacement } from "../../../../provider/rollout/tenants/place-tenant";
import { createTarget } from "../../../support/rollout-target";

const AT = "https://mail.example";
const EVIL = { "evil.example": "deny" };

function buildRow(tenant: string): AllowDenyEntryRow {
  return {
    id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-000000000001`,
    list: "deny",
    entry_type: "domain",
    value: "evil.example",
    verdict_scope: "global",
    created_at: "2026-11-02T09:00:00Z",
  } as AllowDenyEntryRow;
}

function buildRecord(tenant: string): IdentityRecord {
  const identity = buildTenantIdentity(AT, { rows: [buildRow(tenant)], mailboxes: [] });
  return { stack: "t0", name: "t0", rollout: "r", seq: 1, identity };
}

it.each([
  ["without journal records", new Map()],
  ["that is newer than the journal's record", new Map([["t0", buildRecord("third")]])],
])("avoids a former tenant's stack by its marker %s", async (_label, identityRecords) => {
  const chooseTestStack = async (tenant: string) => {
    const identity = buildTenantIdentity(AT, { rows: [buildRow(tenant)], mailboxes: [] });
    const marker = { rollout: "20261120-1200-aaaaaa", seq: 2, at: "2026-11-20T12:00:00Z", identity };
    const known = { entries: { content: EVIL, exists: true }, vips: { content: {} } };
    const placeOnStack = async (stack = "t0") => {
      const placed = { target: { ...createTarget("t0", AT), stack }, otherTargets: [] } as unknown as TenantPlacement;
      return { placed };
    };
    const { placement, avoidedStacks } = await chooseTenantStack(
      placeOnStack,
      buildObservedState("2026-11-21", [buildRow("now")], []),
      {
        identityRecords,
        readStack: async ({ target }) => (target.stack === "t0" ? { exists: true, known, marker } : undefined),
      },
    );
    return [placement.placed.target.stack, avoidedStacks.map(({ stack }) => stack)];
  };
  expect(await chooseTestStack("former")).toEqual(["t0-2", ["t0"]]);
  expect(await chooseTestStack("now")).toEqual(["t0", []]);
});

it.each([
  ["takes the removed stack of an emptied tenant", { isThere: false, tenantRows: [] }, "t0", undefined],
  [
    "avoids a stack whose declarations an empty tenant doesn't have",
    { isThere: true, tenantRows: [] },
    "t0-2",
    "the tenant has none of its declared elements",
  ],
  [
    "avoids the removed stack of another tenant",
    { isThere: false, tenantRows: [buildRow("now")] },
    "t0-2",
    expect.stringContaining("the rollout r read another tenant of the service there"),
  ],
])("%s", async (_claim, { isThere, tenantRows }, stack, reason) => {
  const known = { entries: { content: isThere ? EVIL : {}, exists: isThere }, vips: { content: {} } };
  const placeByName = async (name = "t0") => {
    const placed = {
      target: { ...createTarget("t0", AT), stack: name },
      otherTargets: [],
    } as unknown as TenantPlacement;
    return { placed };
  };
  const { placement, avoidedStacks } = await chooseTenantStack(
    placeByName,
    buildObservedState("2026-11-21", tenantRows, []),
    {
      identityRecords: new Map([["t0", buildRecord("former")]]),
      readStack: async ({ target }) => (target.stack === "t0" ? { exists: isThere, known } : undefined),
    },
  );
  expect([placement.placed.target.stack, avoidedStacks[0]?.reason]).toEqual([stack, reason]);
});
