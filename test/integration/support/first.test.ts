import { expect, it } from "vitest";
import { ManagedResource } from "../../support/managed-resource";
import { sandboxTenant } from "../../support/sandbox-tenant";

it("creates a declared entry", async () => {
  await using tenant = await sandboxTenant();
  const list = new ManagedResource(tenant, "allowDenyList");
  await list.up({ entries: { "evil.example": "deny: INC-1042" } });
  expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ value: "evil.example", list: "deny" }]);
});
