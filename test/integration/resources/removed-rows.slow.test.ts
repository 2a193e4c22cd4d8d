import { describe, expect, it } from "vitest";
import { createLaggingLists } from "../../support/lagging-lists";
import { type LiteralServiceOptions, type LiteralTenant, startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";
import { startSandboxTenant } from "../../support/sandbox-tenant";

/*
 * A run removes or moves a row, and the lists still show it to the next run, which declares the value again. That run
 * must not count on a row that only a stale list shows.
 */

const VALUE = "evil.example";
const deny = { list: "deny", value: VALUE };
const allow = { list: "allow", value: VALUE, acceptRisk: "a partner" };
const ALLOW = "allow (risk accepted: a partner)";
const mailbox = "yuki.sato@acme.example";

const startLaggingTenant = (options: LiteralServiceOptions = {}): Promise<LiteralTenant> =>
  startLiteralTenant({ allowsDuplicates: true, changesBehind: 3, ...options });

const createManagedEntry = (tenant: LiteralTenant, name = "one", sharesRuns = false): ManagedResource =>
  new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns });

describe("entry removed by the previous run", () => {
  it("is created again, with real delays between reads", async () => {
    const options = { allowsDuplicates: true, changesBehind: 3 };
    await using tenant = await startLiteralTenant(options, { hasRealPauses: true });
    const entry = createManagedEntry(tenant);
    await entry.up(deny);
    await entry.destroy();
    const { outcome, printed } = await entry.up(deny);
    expect([outcome, printed]).toEqual(["created", ""]);
    expect(tenant.service.entries.map(({ id }) => id)).toEqual([entry.id]);
  });

  it.each([false, true])("is created again with another comment (adopt: %s)", async (adopt) => {
    await using tenant = await startLaggingTenant();
    const entry = createManagedEntry(tenant);
    await entry.up({ ...deny, comment: "INC-7" });
    await entry.destroy();
    expect(await entry.up({ ...deny, comment: "INC-8", adopt })).toMatchObject({
      outcome: "created",
      printed: "",
    });
    expect(tenant.service.entries.map(({ id, comment }) => [id, comment])).toEqual([[entry.id, "INC-8"]]);
  });

  it.each([false, true])("is created on the other list (adopt: %s)", async (adopt) => {
    await using tenant = await startLaggingTenant();
    const entry = createManagedEntry(tenant);
    await entry.up(allow);
    await entry.destroy();
    expect(await entry.up({ ...deny, adopt })).toMatchObject({ outcome: "created", printed: "" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it.each([false, true])("is created in another scope on the other list (adopt: %s)", async (adopt) => {
    await using tenant = await startLaggingTenant();
    const entry = createManagedEntry(tenant);
    await entry.up({ ...allow, verdictScope: "graymail" });
    await entry.destroy();
    expect(await entry.up({ ...deny, adopt })).toMatchObject({ outcome: "created", printed: "" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });

  it("doesn't conflict with an allow", async () => {
    await using tenant = await startLaggingTenant();
    const entry = createManagedEntry(tenant);
    await entry.up({ ...deny, verdictScope: "graymail" });
    await entry.destroy();
    expect(await entry.up(allow)).toMatchObject({ outcome: "created", printed: "" });
    expect(entry.properties).not.toHaveProperty("conflict");
  });
});

it.each(["allowDenyEntry", "allowDenyList"] as const)(
  "ignores a deleted deny when the allow of an %s moves",
  async (kind) => {
    await using tenant = await startLaggingTenant({ changesBehind: { deny: 3 } });
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(kind === "allowDenyEntry" ? allow : { entries: { [VALUE]: ALLOW } });
    const { id } = tenant.service.add(deny);
    await fetch(`${tenant.service.url}/api/v1/settings/allow_deny_entries/${id}`, { method: "DELETE" });
    expect(await resource.up(kind === "allowDenyEntry" ? deny : { entries: { [VALUE]: "deny" } })).toMatchObject({
      outcome: "updated",
    });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  },
);

describe("list entry removed by the previous run", () => {
  const other = { "worse.example": "deny" };

  it.each([
    ["as it was", "deny", "deny"],
    ["with a different comment", "deny: INC-7", "deny: INC-8"],
    ["on the other list", ALLOW, "deny"],
  ])("is created again %s", async (_label, before, after) => {
    await using tenant = await startLaggingTenant();
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { [VALUE]: before, ...other } });
    await list.up({ entries: other });
    expect(await list.up({ entries: { [VALUE]: after, ...other } })).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example", "deny worse.example"]);
  });

  it("is created again by a list that adopts", async () => {
    await using tenant = await startLaggingTenant();
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { [VALUE]: ALLOW, ...other } });
    await list.up({ entries: other });
    const up = await list.up({ entries: { [VALUE]: "deny", ...other }, adopt: true });
    expect(up).toMatchObject({ outcome: "updated", printed: "" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example", "deny worse.example"]);
  });

  it.each(["allow", "deny"])("is moved back when only the %s list lags", async (name) => {
    await using tenant = await startLaggingTenant({ changesBehind: { [name]: 3 } });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { [VALUE]: "deny" } });
    await list.up({ entries: { [VALUE]: ALLOW } });
    expect(await list.up({ entries: { [VALUE]: "deny" } })).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });
});

describe.each([3, 99])("row moved by the previous run, on an allow list %i reads behind", (reads) => {
  const other = { "worse.example": "deny" };
  const moved = ["deny evil.example", "deny worse.example"];

  it("isn't removed by an exclusive list", async () => {
    await using tenant = await startLaggingTenant({ changesBehind: { allow: reads } });
    const list = new ManagedResource(tenant, "allowDenyList", { sharesRuns: true });
    const buildListArguments = (text: string) => ({
      entries: { [VALUE]: text, ...other },
      mode: "exclusive",
      maxRemovalFraction: 1,
    });
    await list.up(buildListArguments(ALLOW));
    await tenant.provider.startNextRun();
    await list.up(buildListArguments("deny"));
    await tenant.provider.startNextRun();
    await list.refresh();
    await tenant.provider.startNextRun();
    await list.up(buildListArguments("deny"));
    expect(tenant.service.listContents()).toEqual(moved);
    tenant.service.catchUp();
    await tenant.provider.startNextRun();
    await list.refresh();
    expect(await list.up(buildListArguments("deny"))).toMatchObject({ outcome: "same" });
  });

  it("isn't removed by a list that adopts", async () => {
    await using tenant = await startLaggingTenant({ changesBehind: { allow: reads } });
    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { [VALUE]: ALLOW }, adopt: true });
    await list.up({ entries: { [VALUE]: "deny" }, adopt: true });
    await list.up({ entries: { [VALUE]: "deny", ...other }, adopt: true });
    expect(tenant.service.listContents()).toEqual(moved);
  });

  it("isn't removed by an entry that adopts", async () => {
    await using tenant = await startLaggingTenant({ changesBehind: { allow: reads }, entries: [allow] });
    await fetch(`${tenant.service.url}/api/v1/settings/allow_deny_entries/row-1`, {
      method: "PATCH",
      body: '{"list":"deny"}',
    });
    await createManagedEntry(tenant).up({ ...deny, adopt: true });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });
});

describe("VIP removed by the previous run", () => {
  it.each(["vipEmployee", "vipList"] as const)("is added again by a %s", async (kind) => {
    const lists = createLaggingLists(0);
    await using tenant = await startSandboxTenant({ ...lists });
    lists.sandbox = tenant.sandbox;
    const vip = new ManagedResource(tenant, kind);
    const args = kind === "vipList" ? { members: { [mailbox]: "CFO" } } : { email: mailbox, comment: "CFO" };
    await vip.up(args);
    lists.staleReads = 3;
    await vip.destroy();
    expect(await vip.up(args)).toMatchObject({ outcome: "created", printed: "" });
    expect(tenant.sandbox.vips("acme").map(({ email }) => email)).toContain(mailbox);
  });
});

describe("entry made in the console", () => {
  it("is adopted with one reread of the lists per run", async () => {
    const values = ["a.example", "b.example", "c.example"];
    await using tenant = await startLiteralTenant({ entries: values.map((value) => ({ list: "deny", value })) });
    const entries = values.map((value) => createManagedEntry(tenant, value, true));
    const ups = await Promise.all(entries.map((entry, index) => entry.up({ ...deny, value: values[index] })));
    expect(ups.map(({ outcome }) => outcome)).toEqual(["created", "created", "created"]);
    expect(tenant.service).toMatchObject({ writes: [], reads: 2 * 6 });
  });

  it("is changed by an adopting resource without a reread", async () => {
    await using tenant = await startLiteralTenant({ entries: [{ ...deny, comment: "by hand" }] });
    expect(await createManagedEntry(tenant).up({ ...deny, comment: "INC-7", adopt: true })).toMatchObject({
      outcome: "created",
    });
    expect(tenant.service).toMatchObject({ writes: ['PATCH row-1 {"comment":"INC-7"}'], reads: 2 });
  });
});

describe.each(["allowDenyEntry", "allowDenyList"] as const)("404 to a deletion by %s", (kind) => {
  it("fails when the lists still show the row", async () => {
    await using tenant = await startLiteralTenant();
    const args = kind === "allowDenyEntry" ? deny : { entries: { [VALUE]: "deny" } };
    const resource = new ManagedResource(tenant, kind, { name: "one", sharesRuns: true });
    const drifted = createManagedEntry(tenant, "drifted", true);
    await resource.up(args);
    await drifted.up({ list: "deny", value: "gone.example" });
    tenant.service.entries.pop();
    await tenant.provider.startNextRun();
    await drifted.refresh();
    tenant.service.answers404 = true;
    const { outcome, failures } = await resource.destroy();
    expect([outcome, failures[""]]).toEqual(["failed", expect.stringContaining("its list still shows it")]);
    expect(resource.properties).toBeDefined();
    tenant.service.answers404 = false;
    expect(await resource.destroy()).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual([]);
  });
});
