import { expect, it } from "vitest";
import { buildNumberedDenies, formatBadDomain } from "../../support/numbered-domains";
import { startSandboxTenant } from "../../support/sandbox-tenant";
import { startListTenant } from "./list-tenant";

it("accepts a list larger than gRPC's default limit", async () => {
  await using tenant = await startSandboxTenant();
  const list = tenant.provider.getResource("allowDenyList");
  const entries = buildNumberedDenies(5_000, `deny: ${"x".repeat(1_000)}`);
  const { inputs, failures } = await list.check({ entries });
  expect({ inputs, failures }).toEqual({ inputs: { entries }, failures: {} });
  const { [formatBadDomain(8)]: _removed, ...others } = entries;
  const changed = { entries: { ...others, [formatBadDomain(7)]: "deny", "new.example": "deny" } };
  expect(await list.diffDetails("allow-deny-list", inputs, changed, inputs)).toEqual({
    [`entries["${formatBadDomain(7)}"]`]: "UPDATE",
    [`entries["${formatBadDomain(8)}"]`]: "DELETE",
    'entries["new.example"]': "ADD",
  });
  expect(tenant.trace()).toEqual([]);
});

it("keeps completed entries of a partly written list in state", async () => {
  let isBroken = true;
  await using listTenant = await startListTenant({
    intercept: ({ method, body }) =>
      isBroken && method === "POST" && (body as { value: string }).value === formatBadDomain(7)
        ? { status: 400, body: { error: "no" } }
        : undefined,
  });
  const { tenant, list } = listTenant;
  expect((await list.up({ entries: buildNumberedDenies(1_000) })).outcome).toBe("partial");
  const { [formatBadDomain(7)]: _missing, ...others } = buildNumberedDenies(1_000);
  expect(list.properties?.["entries"]).toEqual(others);
  isBroken = false;
  tenant.trace();
  expect((await list.up({ entries: buildNumberedDenies(1_000) })).outcome).toBe("updated");
  expect(tenant.writes()).toEqual([expect.stringContaining(`"value":"${formatBadDomain(7)}"`)]);
});
