import { describe, expect, it } from "vitest";
import { literalTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";

/*
 * A service that compares values literally, or permits duplicates, holds one value in several rows. After a delete or a move, none of them
 * contradicts what is declared.
 */

const allow = { list: "allow", acceptRisk: "a partner" };

describe("two resources of one value", () => {
  it.each([
    ["an internationalized domain", "bücher.example", "xn--bcher-kva.example"],
    ["case and a trailing dot", "D.example", "d.example."],
    ["an IPv6 address", "2001:DB8:0::1", "2001:db8::1"],
    ["an IPv4-mapped address", "::ffff:192.0.2.9", "192.0.2.9"],
  ])("make one row of two spellings: %s", async (_what, one, other) => {
    await using tenant = await literalTenant();
    const [first, second] = ["one", "other"].map(
      (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
    );
    await Promise.all([first?.up({ ...allow, value: one }), second?.up({ ...allow, value: other })]);
    expect(tenant.service.entries).toHaveLength(1);
  });

  it.each([0, 3])(
    "make one row where duplicates are permitted and a list is %i reads behind",
    async (readsBehind) => {
      await using tenant = await literalTenant({ permitsDuplicates: true, readsBehind });
      const resources = ["one", "other", "third"].map(
        (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
      );
      await Promise.all(resources.map((resource) => resource.up({ ...allow, value: "partner.example" })));
      expect(tenant.service.held()).toEqual(["allow partner.example"]);
    },
  );
});

describe("an entry that is there twice", () => {
  const twice = ["partner.example", "Partner.example"].map((value) => ({ list: "allow", value }));

  it("is removed whole", async () => {
    await using tenant = await literalTenant({ entries: twice, permitsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    expect(await entry.up({ ...allow, value: "partner.example" })).toMatchObject({ outcome: "created" });
    const { printed } = await entry.destroy();
    expect(tenant.service.held()).toEqual([]);
    expect(printed).toContain("was there 2 times; all of them are removed");
  });

  it("is moved whole, and never off both lists", async () => {
    await using tenant = await literalTenant({ entries: twice, permitsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "partner.example" });
    const moved = await entry.up({ list: "deny", value: "partner.example" });
    expect(moved).toMatchObject({ outcome: "updated" });
    expect(moved.printed).toContain("Removed a duplicate of partner.example from the allow list");
    expect(tenant.service.held()).toEqual(["deny partner.example"]);
    expect(tenant.service.writes.map((write) => write.split(" ")[0])).toEqual(["PATCH", "DELETE"]);
    expect(await entry.up({ list: "deny", value: "partner.example" })).toMatchObject({ outcome: "same" });
  });

  it("is moved whole by a list", async () => {
    await using tenant = await literalTenant({ entries: twice, permitsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "partner.example": "allow (risk accepted: a partner)" } });
    expect(await list.up({ entries: { "partner.example": "deny" } })).toMatchObject({ outcome: "updated" });
    expect(tenant.service.held()).toEqual(["deny partner.example"]);
  });
});

describe("a VIP whose mailbox has several spellings", () => {
  it("is added in canonical form, as a list adds it", async () => {
    await using tenant = await literalTenant();
    await new ManagedResource(tenant, "vipEmployee").up({ email: "Yuki.Sato@ACME.example" });
    expect(tenant.service.writes).toEqual(["POST yuki.sato@acme.example"]);
  });

  it("is edited and removed by the address that the service lists", async () => {
    await using tenant = await literalTenant({ vips: ["Yuki.Sato@acme.example"] });
    const vip = new ManagedResource(tenant, "vipEmployee");
    await vip.up({ email: "yuki.sato@acme.example", comment: "Signs payments" });
    await vip.destroy();
    expect(tenant.service.writes).toEqual(["PATCH Yuki.Sato@acme.example", "REMOVE Yuki.Sato@acme.example"]);
    expect(tenant.service.vips).toEqual([]);
  });

  it.each(["vipEmployee", "vipList"] as const)("is removed in every spelling by a %s", async (kind) => {
    await using tenant = await literalTenant({ vips: ["Yuki.Sato@acme.example", "yuki.sato@acme.example"] });
    const vip = new ManagedResource(tenant, kind);
    const email = "yuki.sato@acme.example";
    await vip.up(kind === "vipList" ? { members: { [email]: "" } } : { email });
    await vip.destroy();
    expect(tenant.service.vips).toEqual([]);
  });
});

describe("a deny beside an allow of the same value", () => {
  const both = ["allow", "deny"].map((list) => ({ list, value: "evil.example" }));

  it("isn't declared done", async () => {
    await using tenant = await literalTenant({ entries: both, permitsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    const up = await entry.up({ list: "deny", value: "evil.example" });
    expect(up).toMatchObject({ outcome: "failed" });
    expect(Object.values(up.failures).join("\n")).toMatch(/contradicts what is declared.*adopt: true/s);
    expect(tenant.service.writes).toEqual([]);
  });

  it("loses the allow where adopting is meant", async () => {
    await using tenant = await literalTenant({ entries: both, permitsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ list: "deny", value: "evil.example", adopt: true });
    expect(tenant.service.held()).toEqual(["deny evil.example"]);
  });

  it("is drift where the allow came later, which the next run reverts", async () => {
    await using tenant = await literalTenant({ permitsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ list: "deny", value: "evil.example" });
    const [row] = tenant.service.entries;
    tenant.service.entries.push({ ...row, id: "later", list: "allow" } as never);
    await entry.refresh();
    expect(entry.properties).toMatchObject({ list: "allow" });
    expect(await entry.up({ list: "deny", value: "evil.example" })).toMatchObject({ outcome: "updated" });
    expect(tenant.service.held()).toEqual(["deny evil.example"]);
  });

  it("isn't declared done by a list that doesn't know it", async () => {
    await using tenant = await literalTenant({ entries: both, permitsDuplicates: true });
    const up = await new ManagedResource(tenant, "allowDenyList").up({ entries: { "evil.example": "deny" } });
    expect(up).toMatchObject({ outcome: "failed" });
    expect(tenant.service.held()).toEqual(["allow evil.example", "deny evil.example"]);
  });

  it("is named where the deny is deleted and the allow stays", async () => {
    await using tenant = await literalTenant({ permitsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ list: "deny", value: "evil.example" });
    const [row] = tenant.service.entries;
    tenant.service.entries.push({ ...row, id: "later", list: "allow" } as never);
    const { printed } = await entry.destroy();
    expect(tenant.service.held()).toEqual(["allow evil.example"]);
    expect(printed).toContain("evil.example is also at the tenant as");
  });

  it("is named where the allow is of another scope", async () => {
    await using tenant = await literalTenant({
      entries: [{ list: "allow", value: "Evil.example", verdict_scope: "graymail" }],
      permitsDuplicates: true,
    });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    const { outcome, printed } = await entry.up({ list: "deny", value: "evil.example" });
    expect(outcome).toBe("created");
    expect(printed).toContain("evil.example is also at the tenant as");
  });
});
