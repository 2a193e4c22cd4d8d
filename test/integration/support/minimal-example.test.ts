import { expect, it } from "vitest";
import { ManagedResource } from "../../support/managed-resource";
import { startSandboxTenant } from "../../support/sandbox-tenant";

it("creates a declared entry", async () => {
  await using tenant = await startSandboxTenant();
  const list = new ManagedResource(tenant, "allowDenyList");
  await list.up({ entries: { "evil.example": "deny: INC-1042" } });
  expect(tenant.sandbox.allowDenyEntries("acme")).toMatchObject([{ value: "evil.example", list: "deny" }]);
});
