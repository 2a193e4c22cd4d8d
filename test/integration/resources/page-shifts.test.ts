import { expect, it } from "vitest";
import type { ServiceRequest, ServiceResponse } from "../../../provider/sandbox";
import { ManagedResource } from "../../support/managed-resource";
import { startSandboxTenant } from "../../support/sandbox-tenant";

it("removes an entry missed by a read during a concurrent write", async () => {
  const target = "target.example";
  let hidden = 0;
  // Another row takes the entry's place: one row was added for each one removed, so the read looks complete.
  const shiftRows = (request: ServiceRequest, response: ServiceResponse): ServiceResponse | undefined => {
    const text = JSON.stringify(response.body);
    if (request.method !== "GET" || hidden === 0 || !text.includes(`"${target}"`)) return undefined;
    hidden -= 1;
    const body = JSON.parse(text) as { results: { items: { id: string; value: string }[] } };
    for (const item of body.results.items) {
      if (item.value === target) Object.assign(item, { id: "another", value: "another.example" });
    }
    return { ...response, body };
  };
  await using tenant = await startSandboxTenant({ afterHandle: shiftRows });
  const list = new ManagedResource(tenant, "allowDenyList");
  const entries = Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`evil-${index}.example`, "deny"]));
  expect((await list.up({ entries: { ...entries, [target]: "deny: INC-7" } })).outcome).toBe("created");

  hidden = 1;
  expect((await list.up({ entries })).outcome).toBe("updated");
  expect(hidden).toBe(0);
  expect(tenant.sandbox.allowDenyEntries("acme").map(({ value }) => value)).not.toContain(target);
  expect((await list.up({ entries })).outcome).toBe("same");
});
