import { describe, expect, it } from "vitest";
import { type LiteralTenant, startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";

/*
 * A service permits duplicates, and its lists show a new row late. The next run starts before they do. A row in state
 * isn't gone just because one read misses it.
 */

const allow = { list: "allow", value: "evil.example", acceptRisk: "a partner" };
const deny = { list: "deny", value: "evil.example" };
const ALLOW = "allow (risk accepted: a partner)";

const startUnlistingTenant = (readsBehind: number): Promise<LiteralTenant> =>
  startLiteralTenant({ allowsDuplicates: true, readsBehind });

const createManagedEntries = (tenant: LiteralTenant, ...names: readonly string[]): readonly ManagedResource[] =>
  names.map((name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }));

// A single entry's id is in state, so the lag doesn't matter. A list's state has no ids, so the list is read again for
// 3 s.
describe.each([2, 99])("entry that is listed %i reads late", (readsBehind) => {
  it("is moved in place", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const [entry] = createManagedEntries(tenant, "one");
    await entry?.up(allow);
    await tenant.provider.startNextRun();
    expect(await entry?.up(deny)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
    expect(tenant.service.writes).toEqual(["POST allow evil.example", 'PATCH row-1 {"list":"deny"}']);
  });

  it("is moved in place within a custom timeout", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up(allow, 60);
    expect(await entry.up(deny, 60)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("is deleted without a report that it is gone", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up(allow);
    const { printed } = await entry.destroy();
    expect(tenant.service.listContents()).toEqual([]);
    expect(printed).not.toContain("gone");
  });

  it.each(["allow", "deny"])("leaves no allow after a move despite a second row on the %s list", async (list) => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up(allow);
    tenant.service.entries.push({
      ...(tenant.service.entries[0] as never as object),
      id: "later",
      list,
    } as never);
    expect(await entry.up(deny)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("is deleted together with a listed second row", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up(allow);
    tenant.service.entries.push({ ...(tenant.service.entries[0] as never as object), id: "later" } as never);
    const { printed } = await entry.destroy();
    expect(tenant.service.listContents()).toEqual([]);
    expect(printed).toContain("existed 2 times");
  });
});

describe.each([2, 4])("row that is listed %i reads late", (readsBehind) => {
  it("is moved among many without suspecting another tenant", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const entries = createManagedEntries(tenant, "a", "b", "c", "d", "e", "f");
    const updateAllEntries = (args: object) =>
      Promise.all(entries.map((entry, index) => entry.up({ ...args, value: `evil-${index}.example` })));
    await updateAllEntries(allow);
    await tenant.provider.startNextRun();
    for (const up of await updateAllEntries(deny)) expect(up).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(entries.map((_, index) => `deny evil-${index}.example`));
  });

  it("stays in state after a refresh", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up(deny);
    await entry.refresh();
    expect(await entry.up(deny)).toMatchObject({ outcome: "same" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("stays in a list's state after a refresh", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": "deny" } });
    await list.refresh();
    expect(await list.up({ entries: { "evil.example": "deny" } })).toMatchObject({ outcome: "same" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("is moved in place by a list", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": ALLOW } });
    expect(await list.up({ entries: { "evil.example": "deny" } })).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
    expect(tenant.service.writes).toEqual(["POST allow evil.example", 'PATCH row-1 {"list":"deny"}']);
  });

  it("is changed in a list of many without suspecting another tenant", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const list = new ManagedResource(tenant, "allowDenyList");
    const values = Array.from({ length: 6 }, (_, index) => `evil-${index}.example`);
    const buildListArguments = (text: string) => ({
      entries: Object.fromEntries(values.map((value) => [value, text])),
    });
    await list.up(buildListArguments(ALLOW));
    expect(await list.up(buildListArguments("deny"))).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(values.map((value) => `deny ${value}`));
  });

  it("is removed by a list's update and by its destroy", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": ALLOW, "worse.example": "deny" } });
    await list.up({ entries: { "worse.example": "deny" } });
    expect(tenant.service.listContents()).toEqual(["deny worse.example"]);
    await list.destroy();
    expect(tenant.service.listContents()).toEqual([]);
  });

  it("stays one row when its resource is renamed", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const [old, renamed] = createManagedEntries(tenant, "old", "renamed");
    await old?.up(deny);
    await tenant.provider.startNextRun();
    await old?.refresh();
    await renamed?.up(deny);
    await old?.destroy();
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("stays one row when it moves from an entry to a list", async () => {
    await using tenant = await startUnlistingTenant(readsBehind);
    const [entry] = createManagedEntries(tenant, "one");
    const list = new ManagedResource(tenant, "allowDenyList", { sharesRuns: true });
    await entry?.up(deny);
    await tenant.provider.startNextRun();
    await entry?.refresh();
    await list.up({ entries: { "evil.example": "deny" } });
    await entry?.destroy();
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });
});
