import { expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../../provider/client";
import { observedFrom } from "../../../../provider/plan/observed";
import { chooseStack } from "../../../../provider/rollout/tenants/choose-stack";
import type { PlacedTenant } from "../../../../provider/rollout/tenants/place-tenant";
import { identityOf } from "../../../../provider/settings/tenant-identity";
import { targetOf } from "../../../support/journal-story";

const AT = "https://mail.example";
const EVIL = { "evil.example": "deny" };

it("avoids the stack of a former tenant of that name by its marker, where no journal knows it", async () => {
  const row = (tenant: string): AllowDenyEntryRow =>
    ({
      id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-000000000001`,
      list: "deny",
      entry_type: "domain",
      value: "evil.example",
      verdict_scope: "global",
      created_at: "2026-11-02T09:00:00Z",
    }) as AllowDenyEntryRow;
  const choose = async (tenant: string) => {
    const identity = identityOf(AT, { rows: [row(tenant)], mailboxes: [] });
    const marker = { rollout: "20261120-1200-aaaaaa", seq: 1, at: "2026-11-20T12:00:00Z", identity };
    const known = { entries: { content: EVIL, isThere: true }, vips: { content: {} } };
    const place = async (stack = "t0") => {
      const placed = { target: { ...targetOf("t0", AT), stack }, others: [] } as unknown as PlacedTenant;
      return { placed };
    };
    const { placed, avoided } = await chooseStack(place, observedFrom("2026-11-21", [row("now")], []), {
      remembered: new Map(),
      read: async ({ target }) => (target.stack === "t0" ? { isThere: true, known, marker } : undefined),
    });
    return [placed.placed.target.stack, avoided.map(({ stack }) => stack)];
  };
  expect(await choose("former")).toEqual(["t0-2", ["t0"]]);
  expect(await choose("now")).toEqual(["t0", []]);
});
