import { expect, it } from "vitest";
import { startSandboxTenant } from "../../support/sandbox-tenant";
import { bad, listTenant, many } from "./list-tenant";

it("checks and diffs a list larger than gRPC's default limit", async () => {
  await using tenant = await startSandboxTenant();
  const list = tenant.provider.getResource("allowDenyList");
  const entries = many(5_000, `deny: ${"x".repeat(1_000)}`);
  const { inputs, failures } = await list.check({ entries });
  expect({ inputs, failures }).toEqual({ inputs: { entries }, failures: {} });
  const { [bad(8)]: _gone, ...others } = entries;
  const changed = { entries: { ...others, [bad(7)]: "deny", "new.example": "deny" } };
  expect(await list.diffDetails("allow-deny-list", inputs, changed, inputs)).toEqual({
    [`entries["${bad(7)}"]`]: "UPDATE",
    [`entries["${bad(8)}"]`]: "DELETE",
    'entries["new.example"]': "ADD",
  });
  expect(tenant.trace()).toEqual([]);
});

it("keeps completed entries of a partly written list in state", async () => {
  let isBroken = true;
  await using made = await listTenant({
    intercept: ({ method, body }) =>
      isBroken && method === "POST" && (body as { value: string }).value === bad(7)
        ? { status: 400, body: { error: "no" } }
        : undefined,
  });
  const { tenant, list } = made;
  expect((await list.up({ entries: many(1_000) })).outcome).toBe("partial");
  const { [bad(7)]: _missing, ...others } = many(1_000);
  expect(list.properties?.["entries"]).toEqual(others);
  isBroken = false;
  tenant.trace();
  expect((await list.up({ entries: many(1_000) })).outcome).toBe("updated");
  expect(tenant.writes()).toEqual([expect.stringContaining(`"value":"${bad(7)}"`)]);
});
