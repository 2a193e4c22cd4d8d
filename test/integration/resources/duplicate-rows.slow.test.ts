import { describe, expect, it } from "vitest";
import { startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";

/*
 * A service that compares values literally, or permits duplicates, holds one value in several rows. After a delete or a
 * move, none of them may contradict the declaration.
 */

const allow = { list: "allow", acceptRisk: "a partner" };

describe("two resources of one value", () => {
  it.each([
    ["an internationalized domain", "bücher.example", "xn--bcher-kva.example"],
    ["case and a trailing dot", "D.example", "d.example."],
    ["an IPv6 address", "2001:DB8:0::1", "2001:db8::1"],
    ["an IPv4-mapped address", "::ffff:192.0.2.9", "192.0.2.9"],
  ])("create one row for two spellings: %s", async (_label, a, b) => {
    await using tenant = await startLiteralTenant();
    const [first, second] = ["one", "other"].map(
      (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
    );
    await Promise.all([first?.up({ ...allow, value: a }), second?.up({ ...allow, value: b })]);
    expect(tenant.service.entries).toHaveLength(1);
  });

  it.each([0, 3])("create one row despite allowed duplicates in a list %i reads behind", async (readsBehind) => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true, readsBehind });
    const resources = ["one", "other", "third"].map(
      (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
    );
    await Promise.all(resources.map((resource) => resource.up({ ...allow, value: "partner.example" })));
    expect(tenant.service.listContents()).toEqual(["allow partner.example"]);
  });
});

describe("entry with duplicates", () => {
  const twice = ["partner.example", "Partner.example"].map((value) => ({ list: "allow", value }));

  it("is removed with all its rows", async () => {
    await using tenant = await startLiteralTenant({ entries: twice, allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    expect(await entry.up({ ...allow, value: "partner.example" })).toMatchObject({ outcome: "created" });
    const { printed } = await entry.destroy();
    expect(tenant.service.listContents()).toEqual([]);
    expect(printed).toContain("existed 2 times; all of them are removed");
  });

  it("is removed with all its rows when one disappears meanwhile", async () => {
    await using tenant = await startLiteralTenant({ entries: twice, allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "partner.example" });
    const { entries } = tenant.service;
    tenant.service.beforeDelete = () => {
      tenant.service.beforeDelete = () => {};
      entries.shift();
    };
    const { printed } = await entry.destroy();
    expect(tenant.service.listContents()).toEqual([]);
    expect(printed).not.toContain("in its place");
  });

  it("keeps the other rows when its own is gone", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "partner.example" });
    const [own] = tenant.service.entries.splice(0);
    for (const id of ["later", "latest"]) if (own) tenant.service.entries.push({ ...own, id });
    const { printed } = await entry.destroy();
    expect(printed).not.toContain("in its place");
    expect(printed).toMatch(/was already gone; .*\(id later.* \| .*\(id latest.* exist at the tenant, and are kept/);
    expect(tenant.service.listContents()).toHaveLength(2);
  });

  it("is moved with all its rows, never off both lists", async () => {
    await using tenant = await startLiteralTenant({ entries: twice, allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "partner.example" });
    const moved = await entry.up({ list: "deny", value: "partner.example" });
    expect(moved).toMatchObject({ outcome: "updated" });
    expect(moved.printed).toContain("Removed a duplicate of partner.example from the allow list");
    expect(tenant.service.listContents()).toEqual(["deny partner.example"]);
    expect(tenant.service.writes.map((write) => write.split(" ")[0])).toEqual(["PATCH", "DELETE"]);
    expect(await entry.up({ list: "deny", value: "partner.example" })).toMatchObject({ outcome: "same" });
  });

  it("is moved with all its rows by a list", async () => {
    await using tenant = await startLiteralTenant({ entries: twice, allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "partner.example": "allow (risk accepted: a partner)" } });
    expect(await list.up({ entries: { "partner.example": "deny" } })).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny partner.example"]);
  });
});

describe("duplicates with different comments", () => {
  const twice = ["INC-8", "INC-7"].map((comment) => ({ list: "deny", value: "evil.example", comment }));
  const other = { "other.example": "deny" };

  it("are all removed by an exclusive list after a refresh", async () => {
    await using tenant = await startLiteralTenant({ entries: twice, allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    const args = { entries: other, mode: "exclusive", maxRemovalFraction: 1 };
    await list.up(args);
    await list.refresh();
    const { outcome, printed } = await list.up(args);
    expect(outcome).toBe("updated");
    expect(printed).toMatch(/evil\.example on the deny list is removed: .*row-/);
    expect(tenant.service.listContents()).toEqual(["deny other.example"]);
    expect(tenant.service.writes).toHaveLength(3);
    expect(await list.up(args)).toMatchObject({ outcome: "same" });
  });

  it.each([false, true])("are removed with the entry of an additive list (refresh: %s)", async (refreshes) => {
    await using tenant = await startLiteralTenant({ entries: twice, allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    const entries = { "evil.example": "deny: INC-7", ...other };
    await list.up({ entries });
    if (refreshes) await list.refresh();
    expect(list.properties).toMatchObject({ entries });
    const { outcome, printed } = await list.up({ entries: other });
    expect([outcome, printed]).toEqual(["updated", expect.stringMatching(/existed 2 times; all .*"INC-8"/)]);
    expect(list.properties).toMatchObject({ entries: other });
    expect(await list.up({ entries: other })).toMatchObject({ outcome: "same" });
    expect(tenant.service.listContents()).toEqual(["deny other.example"]);
  });

  it("are all removed by a list that changes the scope", async () => {
    await using tenant = await startLiteralTenant({
      entries: twice.map((row) => ({ ...row, list: "allow" })),
      allowsDuplicates: true,
    });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": "allow (risk accepted: a partner): INC-7" } });
    await list.up({ entries: { "evil.example (graymail)": "allow (risk accepted: a partner): INC-7" } });
    expect(tenant.service.entries).toMatchObject([{ list: "allow", verdict_scope: "graymail" }]);
  });

  it("are changed only in the declared row", async () => {
    await using tenant = await startLiteralTenant({ entries: twice, allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": "deny: INC-7" } });
    await list.up({ entries: { "evil.example": "deny: INC-9" } });
    expect(tenant.service.entries.map(({ comment }) => comment)).toEqual(["INC-8", "INC-9"]);
  });

  it("are reported once by a refresh that rereads the lists", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": "deny: INC-7" } });
    for (const row of twice) tenant.service.add(row);
    tenant.service.add({ list: "allow", value: "evil.example" });
    await list.refresh();
    const printed = (await tenant.provider.readPrintedLines()).join("\n");
    expect(printed.match(/has 3 copies of the same element/g)).toHaveLength(1);
  });
});

describe("VIP with several spellings", () => {
  it("is added in canonical form", async () => {
    await using tenant = await startLiteralTenant();
    await new ManagedResource(tenant, "vipEmployee").up({ email: "Yuki.Sato@ACME.example" });
    expect(tenant.service.writes).toEqual(["POST yuki.sato@acme.example"]);
  });

  it("is edited by the listed address", async () => {
    await using tenant = await startLiteralTenant({ vips: ["Yuki.Sato@acme.example"] });
    const vip = new ManagedResource(tenant, "vipEmployee");
    await vip.up({ email: "yuki.sato@acme.example", comment: "Signs payments" });
    await vip.destroy();
    expect(tenant.service.writes).toEqual(["PATCH Yuki.Sato@acme.example", "REMOVE Yuki.Sato@acme.example"]);
    expect(tenant.service.vips).toEqual([]);
  });

  it.each(["vipEmployee", "vipList"] as const)("is removed in every spelling by a %s", async (kind) => {
    await using tenant = await startLiteralTenant({ vips: ["Yuki.Sato@acme.example", "yuki.sato@acme.example"] });
    const vip = new ManagedResource(tenant, kind);
    const email = "yuki.sato@acme.example";
    await vip.up(kind === "vipList" ? { members: { [email]: "" } } : { email });
    await vip.destroy();
    expect(tenant.service.vips).toEqual([]);
  });
});

describe("deny next to an allow of the same value", () => {
  const both = ["allow", "deny"].map((list) => ({ list, value: "evil.example" }));

  it("fails to be created", async () => {
    await using tenant = await startLiteralTenant({ entries: both, allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    const up = await entry.up({ list: "deny", value: "evil.example" });
    expect(up).toMatchObject({ outcome: "failed" });
    expect(Object.values(up.failures).join("\n")).toMatch(/contradicts the declaration.*adopt: true/s);
    expect(tenant.service.writes).toEqual([]);
  });

  it("replaces the allow with `adopt: true`", async () => {
    await using tenant = await startLiteralTenant({ entries: both, allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ list: "deny", value: "evil.example", adopt: true });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("fails to be created by a list", async () => {
    await using tenant = await startLiteralTenant({ entries: both, allowsDuplicates: true });
    const up = await new ManagedResource(tenant, "allowDenyList").up({ entries: { "evil.example": "deny" } });
    expect(up).toMatchObject({ outcome: "failed" });
    expect(tenant.service.listContents()).toEqual(["allow evil.example", "deny evil.example"]);
  });

  it("reports the remaining allow when it is deleted", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ list: "deny", value: "evil.example" });
    const [row] = tenant.service.entries;
    tenant.service.entries.push({ ...row, id: "later", list: "allow" } as never);
    const { printed } = await entry.destroy();
    expect(tenant.service.listContents()).toEqual(["allow evil.example"]);
    expect(printed).toContain("evil.example is also at the tenant as");
  });
});

describe("deny next to an allow of another scope", () => {
  const graymail = { list: "allow", value: "Evil.example", verdict_scope: "graymail" };
  const deny = { list: "deny", value: "evil.example" };
  const addGraymailAllow = (tenant: { service: { entries: unknown[] } }) =>
    tenant.service.entries.push({ ...(tenant.service.entries[0] as object), ...graymail, id: "later" });

  it("is not created", async () => {
    await using tenant = await startLiteralTenant({ entries: [graymail], allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    for (const run of [1, 2]) {
      const up = await entry.up(deny);
      expect(up, `run ${run}`).toMatchObject({ outcome: "failed" });
      expect(Object.values(up.failures).join("\n")).toMatch(/allows it in another.*Nothing was changed/s);
    }
    expect(tenant.service.writes).toEqual([]);
  });

  it.each(["allowDenyEntry", "allowDenyList"] as const)("replaces the allow when %s adopts", async (kind) => {
    await using tenant = await startLiteralTenant({ entries: [graymail], allowsDuplicates: true });
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    const args = kind === "allowDenyEntry" ? deny : { entries: { "evil.example": "deny" } };
    const { outcome, printed } = await resource.up({ ...args, adopt: true });
    expect(outcome).toBe("created");
    expect(printed).toContain("Adopted");
    expect(tenant.service.entries).toMatchObject([{ list: "deny", verdict_scope: "global" }]);
  });

  it("is rejected when both exist, even with `adopt: true`", async () => {
    const entries = [graymail, { list: "deny", value: "evil.example" }];
    await using tenant = await startLiteralTenant({ entries, allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    expect(await entry.up({ ...deny, adopt: true })).toMatchObject({ outcome: "failed" });
    expect(tenant.service.writes).toEqual([]);
  });

  it("is not created by moving an allow", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "evil.example" });
    addGraymailAllow(tenant);
    expect(await entry.up(deny)).toMatchObject({ outcome: "failed" });
    expect(tenant.service.writes).toEqual(["POST allow evil.example"]);
  });

  it("replaces the resource's own allow", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "evil.example", verdictScope: "graymail" });
    expect(await entry.up(deny)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("replaces both rows of the resource's own allow", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "evil.example", verdictScope: "graymail" });
    addGraymailAllow(tenant);
    expect(await entry.up(deny)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("is created when another resource's allow goes in the same run", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const [old, next] = ["old", "next"].map(
      (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
    );
    await old?.up({ ...allow, value: "evil.example", verdictScope: "graymail" });
    await tenant.provider.startNextRun();
    await old?.refresh();
    expect(await next?.up(deny)).toMatchObject({ outcome: "created" });
    await old?.destroy();
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("fails every run after a refresh until the allow is gone", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up(deny);
    addGraymailAllow(tenant);
    await entry.refresh();
    expect(entry.properties).toMatchObject({ list: "deny", conflict: expect.stringContaining("graymail") });
    for (const run of [1, 2]) expect(await entry.up(deny), `run ${run}`).toMatchObject({ outcome: "failed" });
    tenant.service.entries.pop();
    expect(await entry.up(deny)).toMatchObject({ outcome: "updated" });
    expect(entry.properties).not.toHaveProperty("conflict");
    expect(await entry.up(deny)).toMatchObject({ outcome: "same" });
    expect(tenant.service.writes).toEqual(["POST deny evil.example"]);
  });

  it("reports the remaining allow when the deny is already gone", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up(deny);
    addGraymailAllow(tenant);
    tenant.service.entries.shift();
    const { printed } = await entry.destroy();
    expect(printed).toContain("evil.example is also at the tenant as");
    expect(tenant.service.entries).toHaveLength(1);
  });
});

describe("deny of a list next to an undeclared allow", () => {
  const declared = { entries: { "evil.example": "deny", "other.example": "deny" } };

  it.each(["graymail", "global"])("fails while other entries are applied: an allow of %s mail", async (scope) => {
    await using tenant = await startLiteralTenant({
      entries: [{ list: "allow", value: "evil.example", verdict_scope: scope }],
      allowsDuplicates: true,
    });
    const list = new ManagedResource(tenant, "allowDenyList");
    const up = await list.up(declared);
    expect(up.outcome).toBe("partial");
    expect(tenant.service.listContents()).toEqual(["allow evil.example", "deny other.example"]);
  });

  it.each(["graymail", "global"])("fails every run after a refresh until the allow goes: %s mail", async (scope) => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up(declared);
    const { writes } = tenant.service;
    const written = writes.length;
    const [row] = tenant.service.entries;
    tenant.service.entries.push({
      ...row,
      id: "later",
      list: "allow",
      value: "evil.example",
      verdict_scope: scope,
    } as never);
    await list.refresh();
    for (const run of [1, 2]) expect(await list.up(declared), `run ${run}`).toMatchObject({ outcome: "partial" });
    tenant.service.entries.pop();
    expect(await list.up(declared)).toMatchObject({ outcome: "updated" });
    expect(await list.up(declared)).toMatchObject({ outcome: "same" });
    expect(tenant.service.writes).toHaveLength(written);
  });

  it("replaces the list's own allow of another scope", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example (graymail)": "allow (risk accepted: a partner)" } });
    expect(await list.up(declared)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example", "deny other.example"]);
  });
});

describe("allow that contradicts a changed entry", () => {
  const deny = { list: "deny", value: "evil.example" };
  const pushDuplicates = (tenant: { service: { entries: unknown[] } }, ...rows: object[]) => {
    const [like = {}] = tenant.service.entries as object[];
    for (const [index, row] of rows.entries()) tenant.service.entries.push({ ...like, id: `later-${index}`, ...row });
  };
  const allowed = { list: "allow", value: "evil.example" };

  it.each([
    [false, "failed", ["allow evil.example", "deny evil.example"]],
    [true, "updated", ["deny evil.example"]],
  ])("is removed by a comment edit only if the deny is adopted (adopt: %s)", async (adopt, outcome, remainingRows) => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...deny, adopt });
    pushDuplicates(tenant, allowed);
    expect(await entry.up({ ...deny, adopt, comment: "INC-8" })).toMatchObject({ outcome });
    expect(tenant.service.listContents()).toEqual(remainingRows);
  });

  it("is removed by a move, even when the own row is gone", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "evil.example" });
    pushDuplicates(tenant, allowed, allowed);
    tenant.service.entries.shift();
    expect(await entry.up(deny)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("is removed in all its rows by an adopting deny", async () => {
    const graymail = { ...allowed, verdict_scope: "graymail" };
    await using tenant = await startLiteralTenant({
      entries: [graymail, { ...graymail, value: "Evil.example" }],
      allowsDuplicates: true,
    });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    expect(await entry.up({ ...deny, adopt: true })).toMatchObject({ outcome: "created" });
    expect(tenant.service.listContents().map((row) => row.toLowerCase())).toEqual(["deny evil.example"]);
  });

  it.each(["global", "graymail"])("is reported when a list removes its deny: an allow of %s mail", async (scope) => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "evil.example": "deny", "other.example": "deny" } });
    pushDuplicates(tenant, { ...allowed, verdict_scope: scope });
    const { outcome, printed } = await list.up({ entries: { "other.example": "deny" } });
    expect(outcome).toBe("updated");
    expect(printed).toContain("evil.example is also at the tenant as");
  });

  it("is reported when an entry's own allow of another scope is deleted", async () => {
    await using tenant = await startLiteralTenant({ allowsDuplicates: true });
    const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
    await entry.up({ ...allow, value: "evil.example" });
    pushDuplicates(tenant, { ...allowed, verdict_scope: "graymail" });
    const { printed } = await entry.destroy();
    expect(printed).toContain("evil.example is also at the tenant as");
  });
});
