import { expect, it } from "vitest";
import { startSandboxTenant } from "../../support/sandbox-tenant";

/*
 * Resources that the engine must replace (`--replace`): it checks the new one without old inputs, requests no diff, and
 * creates it before it deletes the old one, or afterwards if the program says so.
 */

function buildDenies(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`bad-${index}.example`, "deny: x"]));
}

it.each(["made", "deleted"])("replaces an unchanged list without writes when it is %s first", async (first) => {
  await using tenant = await startSandboxTenant();
  const { id, properties } = await tenant.provider
    .getResource("allowDenyList", "list")
    .declare({ entries: buildDenies(5) });
  await tenant.provider.startNextRun();
  tenant.trace();
  const list = tenant.provider.getResource("allowDenyList", "list");
  const { inputs } = await list.check({ entries: buildDenies(5) });
  if (first === "made") await list.create(inputs);
  await list.delete(id, properties);
  if (first === "deleted") await list.create(inputs);
  expect(tenant.writes()).toEqual([]);
});

it("applies the removal guard to a list shortened by its replacement", async () => {
  await using tenant = await startSandboxTenant();
  const { id, properties } = await tenant.provider
    .getResource("allowDenyList", "list")
    .declare({ entries: buildDenies(40) });
  await tenant.provider.startNextRun();
  tenant.trace();
  const list = tenant.provider.getResource("allowDenyList", "list");
  const { inputs } = await list.check({ entries: buildDenies(5) });
  await list.create(inputs);
  await expect(list.delete(id, properties)).rejects.toThrow(
    /^The list is replaced, but the elements that it no longer declares were not removed: \[ERR_GUARD\]\nentries would lose 35 of 40 .*Nothing was removed\. .*confirmRemovals: 35 /s,
  );
  expect(tenant.writes()).toEqual([]);

  await tenant.provider.startNextRun();
  const again = tenant.provider.getResource("allowDenyList", "list");
  await again.check({ entries: buildDenies(5), confirmRemovals: 35 });
  await again.delete(id, properties);
  expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(5);
});

it("applies the removal guard to VIPs of a shortened list", async () => {
  await using tenant = await startSandboxTenant();
  const members = ["yuki.sato@acme.example", "diego.santos@acme.example", "mei.chen@acme.example"];
  const { id, properties } = await tenant.provider.getResource("vipList", "board").declare({ members });
  await tenant.provider.startNextRun();
  const board = tenant.provider.getResource("vipList", "board");
  await board.check({ members: members.slice(0, 1), maxRemovals: 1 });
  await expect(board.delete(id, properties)).rejects.toThrow(/One run may remove at most 1/);
  expect(tenant.sandbox.exclusions("acme")).toEqual([]);
  await tenant.provider.startNextRun();
  const longer = tenant.provider.getResource("vipList", "board");
  await longer.check({ members: members.slice(0, 2), maxRemovals: 1 });
  await longer.delete(id, properties);
  expect(tenant.sandbox.exclusions("acme")).toEqual(members.slice(2));
});

it("deletes a list that the program no longer declares", async () => {
  await using tenant = await startSandboxTenant();
  const { id, properties } = await tenant.provider
    .getResource("allowDenyList", "list")
    .declare({ entries: buildDenies(40) });
  await tenant.provider.startNextRun();
  await tenant.provider.getResource("allowDenyList", "other").check({ entries: { "other.example": "deny" } });
  await tenant.provider.getResource("allowDenyList", "list").delete(id, properties);
  expect(tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
});

it("adopts a replaced entry only when a refresh has shown it", async () => {
  await using tenant = await startSandboxTenant();
  const item = { list: "deny", value: "evil.example" };
  const createdResource = await tenant.provider.getResource("allowDenyEntry").declare({ ...item, comment: "first" });
  await tenant.provider.startNextRun();
  const unseen = tenant.provider.getResource("allowDenyEntry");
  const { inputs } = await unseen.check({ ...item, comment: "second" });
  await expect(unseen.create(inputs)).rejects.toThrow(/\[ERR_EXISTS\]/);

  await tenant.provider.startNextRun();
  const seen = tenant.provider.getResource("allowDenyEntry");
  await seen.read(createdResource.id, createdResource.properties, createdResource.inputs);
  await seen.check({ ...item, comment: "second" });
  tenant.trace();
  expect((await seen.create(inputs)).id).toBe(createdResource.id);
  await seen.delete(createdResource.id, createdResource.properties);
  expect(tenant.writes()).toEqual([`PATCH /allow_deny_entries/${createdResource.id} {"comment":"second"} 200`]);
});
