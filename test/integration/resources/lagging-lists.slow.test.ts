import { describe, expect, it } from "vitest";
import type { SandboxOptions } from "../../../provider/sandbox";
import { createLaggingLists, type LaggingLists } from "../../support/lagging-lists";
import { ManagedResource } from "../../support/managed-resource";
import {
  type ManagedSandboxTenant,
  READ_BOTH_LISTS,
  READ_VIPS,
  startSandboxTenant,
} from "../../support/sandbox-tenant";

const mailbox = "yuki.sato@acme.example";
const detected = "ruth.castellan@acme.example";
const evil = { list: "deny", value: "evil.example", comment: "INC-7" };

interface LaggingTenant extends ManagedSandboxTenant {
  readonly lists: LaggingLists;
}

/** Starts a tenant whose lists show each write only after this many reads. */
async function startLaggingTenant(staleReads = 1, options: SandboxOptions = {}): Promise<LaggingTenant> {
  const lists = createLaggingLists(staleReads);
  const tenant = await startSandboxTenant({
    ...options,
    intercept: async (request) => (await options.intercept?.(request)) ?? (await lists.intercept?.(request)),
    afterHandle: (request, response) =>
      options.afterHandle?.(request, response) ?? lists.afterHandle?.(request, response),
  });
  lists.sandbox = tenant.sandbox;
  return Object.assign(tenant, { lists });
}

describe("VIP that is listed late", () => {
  it("is read again until it is listed", async () => {
    await using tenant = await startLaggingTenant(2);
    const vip = new ManagedResource(tenant, "vipEmployee");
    expect((await vip.up({ email: mailbox, comment: "CFO" })).outcome).toBe("created");
    expect(vip.properties).toMatchObject({ email: mailbox, comment: "CFO", addedBy: "Pulumi (ci)" });
    expect(tenant.trace()).toEqual([
      ...READ_VIPS,
      `POST /vip_employees {"emails":["${mailbox}"],"comment":"CFO"} 200`,
      ...READ_VIPS,
      ...READ_VIPS,
      ...READ_VIPS,
    ]);
  });

  it("is read once when it is listed at once", async () => {
    await using tenant = await startLaggingTenant(0);
    await new ManagedResource(tenant, "vipEmployee").up({ email: mailbox, comment: "CFO" });
    expect(tenant.trace().filter((line) => line.startsWith("GET"))).toEqual([...READ_VIPS, ...READ_VIPS]);
  });

  it("is found although somebody else just added it", async () => {
    await using tenant = await startLaggingTenant(2);
    await tenant.console("POST", "/vip_employees", { emails: [mailbox], comment: "CFO" });
    const vip = new ManagedResource(tenant, "vipEmployee");
    expect((await vip.up({ email: mailbox, comment: "CFO" })).outcome).toBe("created");
    expect(vip.properties).toMatchObject({ comment: "CFO", addedBy: "Dana Reyes (console)" });
  });

  it("stays in state when it is never listed", async () => {
    await using tenant = await startLaggingTenant(99);
    const vip = new ManagedResource(tenant, "vipEmployee");
    const first = await vip.up({ email: mailbox, comment: "CFO" });
    expect(first.outcome).toBe("partial");
    expect(first.failures[""]).toMatch(/eventual consistency.*still excluded.*Run again.*ERR_EXCLUDED/s);
    expect([vip.id, vip.properties?.["email"]]).toEqual([mailbox, mailbox]);
    tenant.lists.catchUp();
    tenant.trace();
    expect((await vip.up({ email: mailbox, comment: "CFO" })).outcome).toBe("updated");
    expect(vip.properties).toMatchObject({ comment: "CFO", addedBy: "Pulumi (ci)" });
    expect(tenant.writes()).toEqual([]);
  });

  it("isn't called excluded when the service reports a VIP", async () => {
    await using tenant = await startLaggingTenant(99);
    await tenant.console("POST", "/vip_employees", { emails: [mailbox], comment: "CFO" });
    const vip = new ManagedResource(tenant, "vipEmployee");
    const { outcome, failures } = await vip.up({ email: mailbox, comment: "CFO" });
    expect(outcome).toBe("partial");
    expect(failures[""]).toMatch(/is already a VIP.*eventual consistency.*ERR_NOT_LISTED/s);
    expect(failures[""]).not.toContain("exclusion");
  });

  it("is added as a list member", async () => {
    await using tenant = await startLaggingTenant(2);
    const list = new ManagedResource(tenant, "vipList");
    const members = { [mailbox]: "CFO", "olivia.park@acme.example": "Counsel" };
    expect((await list.up({ members })).outcome).toBe("created");
    expect(list.properties?.["members"]).toEqual(members);
  });

  it("survives an immediate refresh", async () => {
    await using tenant = await startLaggingTenant(0);
    const vip = new ManagedResource(tenant, "vipEmployee");
    tenant.lists.staleReads = 2;
    await vip.up({ email: mailbox });
    await vip.refresh();
    expect(vip.properties).toMatchObject({ email: mailbox });
  });

  it.each(["vipEmployee", "vipList"] as const)("is excluded by an immediate destroy of a %s", async (kind) => {
    await using tenant = await startLaggingTenant(0);
    const vip = new ManagedResource(tenant, kind);
    await vip.up(kind === "vipList" ? { members: { [mailbox]: "" } } : { email: mailbox });
    tenant.lists.hide("vips", 3);
    await vip.destroy();
    expect(tenant.sandbox.exclusions("acme")).toContain(mailbox);
  });

  it("survives an immediate refresh of a list too", async () => {
    await using tenant = await startLaggingTenant(0);
    const vip = new ManagedResource(tenant, "vipEmployee");
    const list = new ManagedResource(tenant, "vipList");
    await vip.up({ email: mailbox });
    await list.up({ members: { "olivia.park@acme.example": "" } });
    tenant.lists.hide("vips", 3);
    await vip.refresh();
    tenant.lists.hide("vips", 3);
    await list.refresh();
    expect(vip.properties).toMatchObject({ email: mailbox });
    expect(list.properties?.["members"]).toEqual({ "olivia.park@acme.example": "" });
  });
});

it.each(["vipEmployee", "vipList"] as const)("reverts the comment of a %s while lists lag", async (kind) => {
  await using tenant = await startLaggingTenant(0);
  const vip = new ManagedResource(tenant, kind);
  const buildVipArguments = (comment: string) =>
    kind === "vipList" ? { members: { [mailbox]: comment } } : { email: mailbox, comment };
  const readComment = () => tenant.sandbox.vips("acme").find(({ email }) => email === mailbox)?.comment;
  await vip.up(buildVipArguments("CFO"));
  tenant.lists.staleReads = 3;
  await vip.up(buildVipArguments("Chair"));
  expect(await vip.up(buildVipArguments("CFO"))).toMatchObject({ outcome: "updated" });
  expect(readComment()).toBe("CFO");
  await vip.refresh();
  expect(await vip.up(buildVipArguments("CFO"))).toMatchObject({ outcome: "same" });
  await vip.up(buildVipArguments("Chair"));
  await vip.refresh();
  expect(await vip.up(buildVipArguments("CFO"))).toMatchObject({ outcome: "updated" });
  expect(readComment()).toBe("CFO");
});

describe("alias of a primary mailbox", () => {
  const alias = "cfo@acme.example";

  /** The service resolves the alias and returns the mailbox. */
  const buildAliasOptions = (aliases: Readonly<Record<string, string>> = { [alias]: mailbox }): SandboxOptions => ({
    intercept: ({ method, path, body }) => {
      const sent = body as { emails?: string[] } | undefined;
      if (method === "POST" && path.endsWith("/vip_employees") && sent?.emails !== undefined) {
        sent.emails = sent.emails.map((email) => aliases[email] ?? email);
      }
      return undefined;
    },
  });

  it("is replaced by the mailbox in state", async () => {
    await using tenant = await startSandboxTenant(buildAliasOptions());
    const vip = new ManagedResource(tenant, "vipEmployee");
    const first = await vip.up({ email: alias, comment: "CFO" });
    expect(first.outcome).toBe("partial");
    expect(first.failures[""]).toContain(
      `it is an alias, and the service made ${mailbox} a VIP instead, which is now in the stack's state. Declare ${mailbox} instead of ${alias}, then run again. [ERR_VIP_ALIAS]`,
    );
    expect([vip.id, vip.properties?.["email"]]).toEqual([mailbox, mailbox]);
    // Declares the mailbox, as the message advises.
    expect((await vip.up({ email: mailbox, comment: "CFO" })).outcome).toBe("updated");
    expect(vip.properties).toMatchObject({ email: mailbox, comment: "CFO", addedBy: "Pulumi (ci)" });
    await vip.destroy();
    expect(tenant.sandbox.exclusions("acme")).toContain(mailbox);
  });

  it("is reported without state when the mailbox is already a VIP", async () => {
    await using tenant = await startSandboxTenant(buildAliasOptions());
    await tenant.console("POST", "/vip_employees", { emails: [mailbox], comment: "By hand" });
    const vip = new ManagedResource(tenant, "vipEmployee");
    const { outcome, failures } = await vip.up({ email: alias });
    expect(outcome).toBe("failed");
    expect(failures[""]).toMatch(/is already a VIP, so nothing was changed/);
    expect(tenant.sandbox.vips("acme").find(({ email }) => email === mailbox)?.comment).toBe("By hand");
  });

  it("is reported as an alias when its mailbox is declared too", async () => {
    await using tenant = await startSandboxTenant(buildAliasOptions());
    const list = new ManagedResource(tenant, "vipList");
    const up = await list.up({ members: { [alias]: "CFO", [mailbox]: "CFO" } });
    expect(up.outcome).toBe("partial");
    expect(up.reasons.join("\n")).toMatch(
      new RegExp(`${alias}: .*it is an alias.*Declare ${mailbox} instead of ${alias}.*ERR_VIP_ALIAS`),
    );
    expect(list.properties?.["members"]).toEqual({ [mailbox]: "CFO" });
  });

  it("puts the mailbox into list state without ever excluding it", async () => {
    await using tenant = await startSandboxTenant(buildAliasOptions());
    const list = new ManagedResource(tenant, "vipList");
    const members = { [alias]: "CFO", "olivia.park@acme.example": "Counsel" };
    const rows = { [mailbox]: "CFO", "olivia.park@acme.example": "Counsel" };
    for (const _run of [1, 2]) {
      const up = await list.up({ members });
      expect(up.outcome).toBe("partial");
      expect(up.reasons.join("\n")).toContain(`Declare ${mailbox} instead of ${alias}`);
      expect(list.properties?.["members"]).toEqual(rows);
    }
    expect(tenant.sandbox.exclusions("acme")).not.toContain(mailbox);
    expect((await list.up({ members: rows })).outcome).toBe("updated");
    expect(list.properties?.["members"]).toEqual(rows);
  });

  it("keeps the mailbox a VIP when the service echoes the alias", async () => {
    const echoed = buildAliasOptions();
    await using tenant = await startSandboxTenant({
      ...echoed,
      afterHandle: ({ method }, response) => {
        const { results } = (response.body ?? {}) as { results?: { already_vip?: string[] } };
        if (method !== "POST" || results?.already_vip === undefined) return undefined;
        const names = results.already_vip.map((email) => (email === mailbox ? alias : email));
        return { ...response, body: { status: 200, results: { ...results, already_vip: names } } };
      },
    });
    const list = new ManagedResource(tenant, "vipList");
    const members = { [mailbox]: "CFO" };
    await list.up({ members });
    for (const run of [1, 2]) {
      const { outcome, reasons } = await list.up({ members: { [alias]: "CFO" } });
      expect(outcome, `run ${run}`).toBe("partial");
      expect(reasons.join("\n")).toContain(`${mailbox}: stays a VIP, because ${alias} may be an alias of it`);
      expect(list.properties?.["members"]).toHaveProperty([mailbox]);
    }
    expect(tenant.sandbox.exclusions("acme")).not.toContain(mailbox);
    expect((await list.up({ members })).outcome).toBe("updated");
    expect(tenant.sandbox.exclusions("acme")).not.toContain(mailbox);
  });

  it("is distinguished from other aliases in the same request", async () => {
    const counsel = "counsel@acme.example";
    const aliases = { [alias]: mailbox, [counsel]: "lena.hartmann@acme.example" };
    await using tenant = await startSandboxTenant(buildAliasOptions(aliases));
    const list = new ManagedResource(tenant, "vipList");
    const up = await list.up({ members: { [alias]: "", [counsel]: "" } });
    expect(up.reasons.join("\n")).toContain(`Declare ${mailbox} instead of ${alias}`);
    expect(up.reasons.join("\n")).toContain(`Declare lena.hartmann@acme.example instead of ${counsel}`);
    expect(list.properties?.["members"]).toEqual({ [mailbox]: "", "lena.hartmann@acme.example": "" });
  });
});

describe("entry that is listed late", () => {
  it("is adopted when the service says it exists", async () => {
    await using tenant = await startLaggingTenant(3);
    await tenant.console("POST", "/allow_deny_entries", { ...evil, entry_type: "domain" });
    const entry = new ManagedResource(tenant, "allowDenyEntry");
    expect((await entry.up(evil)).outcome).toBe("created");
    expect(tenant.sandbox.allowDenyEntries("acme")).toHaveLength(1);
  });

  it("is not created twice after a lost response", async () => {
    let isLost = false;
    await using tenant = await startLaggingTenant(1, {
      afterHandle: ({ method }) => {
        if (method !== "POST" || isLost) return undefined;
        isLost = true;
        return { status: 502, body: { error: "lost" } };
      },
    });
    const entry = new ManagedResource(tenant, "allowDenyEntry");
    expect((await entry.up(evil)).outcome).toBe("created");
    expect(tenant.writes()).toHaveLength(1);
  });

  it("survives an immediate refresh of an entry or a list", async () => {
    await using tenant = await startLaggingTenant(1);
    const entry = new ManagedResource(tenant, "allowDenyEntry");
    await entry.up(evil);
    await entry.refresh();
    expect(entry.properties).toMatchObject({ value: "evil.example" });

    const list = new ManagedResource(tenant, "allowDenyList");
    await list.up({ entries: { "worse.example": "deny" } });
    await list.refresh();
    expect(list.properties?.["entries"]).toEqual({ "worse.example": "deny" });
  });

  it("is deleted by an immediate destroy", async () => {
    await using tenant = await startLaggingTenant(1);
    const entry = new ManagedResource(tenant, "allowDenyEntry");
    await entry.up({ ...evil, list: "allow" });
    const { printed } = await entry.destroy();
    expect(printed).not.toContain("already gone");
    expect(tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
  });

  it("is deleted by an immediate destroy after a move", async () => {
    await using tenant = await startLaggingTenant(2);
    const entry = new ManagedResource(tenant, "allowDenyEntry");
    await entry.up({ ...evil, list: "allow" });
    tenant.lists.catchUp();
    tenant.lists.staleReads = 2;
    await entry.up(evil);
    expect(await entry.destroy()).toMatchObject({ outcome: "updated" });
    expect(tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
  });

  it("is removed from a list right after a change or move", async () => {
    await using tenant = await startLaggingTenant(0);
    const list = new ManagedResource(tenant, "allowDenyList");
    const risky = "allow: INC-7 (risk accepted: a partner)";
    await list.up({ entries: { "evil.example": risky, "worse.example": "deny", "a.example": "deny" } });
    tenant.lists.staleReads = 2;
    await list.up({
      entries: { "evil.example": "deny", "worse.example": "deny: INC-8", "a.example": "deny" },
    });
    expect(await list.up({ entries: { "a.example": "deny" } })).toMatchObject({ outcome: "updated" });
    expect(tenant.sandbox.allowDenyEntries("acme").map(({ value }) => value)).toEqual(["a.example"]);
  });

  it("causes no extra read when it is listed at once", async () => {
    await using tenant = await startLaggingTenant(0);
    const entry = new ManagedResource(tenant, "allowDenyEntry");
    await entry.up(evil);
    tenant.trace();
    await entry.refresh();
    expect(tenant.trace()).toEqual(READ_BOTH_LISTS);
  });
});

it("stores the comment of an auto-detected VIP with a late row", async () => {
  await using tenant = await startLaggingTenant(2);
  const vip = new ManagedResource(tenant, "vipEmployee");
  expect((await vip.up({ email: detected, comment: "CEO" })).outcome).toBe("created");
  expect(tenant.sandbox.vips("acme").find(({ email }) => email === detected)?.comment).toBe("CEO");
});
