import { describe, expect, it } from "vitest";
import { startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";
import { buildNumberedDenies, formatBadDomain } from "../../support/numbered-domains";
import type { ManagedSandboxTenant } from "../../support/sandbox-tenant";
import { startListTenant } from "./list-tenant";

/* A list that removes undeclared allow entries and leaves deny entries alone. */

const MODE = "exclusive-allows";
const ARGUMENTS = { mode: MODE, entries: { "evil.example": "deny", "partner.example": "allow" } };

async function createConsoleEntry(
  tenant: ManagedSandboxTenant,
  list: string,
  value: string,
  more: object = {},
): Promise<void> {
  await tenant.console("POST", "/allow_deny_entries", { list, entry_type: "domain", value, ...more });
}

function listHeldEntries(tenant: ManagedSandboxTenant): string[] {
  return tenant.sandbox
    .allowDenyEntries("acme")
    .map(({ list, value }) => `${list} ${value}`)
    .sort();
}

/** Returns the entries in state that no program declares. */
function listUndeclared({ inputs }: ManagedResource): Record<string, string> {
  const entries = Object.entries(inputs["entries"] as Record<string, string>);
  return Object.fromEntries(entries.filter(([, text]) => text.startsWith("(unmanaged)")));
}

const DECLARED = ["allow partner.example", "deny evil.example"];

describe("undeclared allow entry", () => {
  it("is removed in the run after a refresh", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up(ARGUMENTS);
    await createConsoleEntry(tenant, "allow", "clicked.example", { comment: "by hand" });
    await createConsoleEntry(tenant, "deny", "colleague.example");
    await list.refresh();
    expect(listUndeclared(list)).toEqual({ "clicked.example": "(unmanaged) allow: by hand" });
    tenant.trace();
    const up = await list.up(ARGUMENTS);
    expect(up).toMatchObject({
      outcome: "updated",
      details: { 'entries["clicked.example"]': "DELETE" },
    });
    expect(up.printed).not.toContain("colleague.example");
    expect(tenant.writes()).toEqual([expect.stringMatching(/^DELETE \/allow_deny_entries\/\S+ 200$/)]);
    expect(listHeldEntries(tenant)).toEqual([...DECLARED, "deny colleague.example"].sort());
    expect(list.properties).toMatchObject(ARGUMENTS);
    await list.refresh();
    expect(list.properties).toMatchObject(ARGUMENTS);
    expect((await list.up(ARGUMENTS)).outcome).toBe("same");
  });

  it("is kept by the run that creates the list", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await createConsoleEntry(tenant, "allow", "clicked.example");
    await createConsoleEntry(tenant, "deny", "colleague.example");
    const { printed } = await list.up(ARGUMENTS);
    expect(printed).toContain("Not changed: 1 entry that no preview has shown (allow clicked.example)");
    expect(listHeldEntries(tenant)).toContain("allow clicked.example");
  });

  it("is kept when ignored", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    const args = { ...ARGUMENTS, ignore: ["*.corp.example"] };
    await list.up(args);
    await createConsoleEntry(tenant, "allow", "x.corp.example");
    await list.refresh();
    expect(listUndeclared(list)).toEqual({});
    expect((await list.up(args)).outcome).toBe("same");
    expect(listHeldEntries(tenant)).toContain("allow x.corp.example");
  });

  it("counts toward the removal guard, unlike a deny", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    const args = { mode: MODE, entries: buildNumberedDenies(10) };
    await list.up(args);
    for (let index = 100; index < 112; index += 1) {
      await createConsoleEntry(tenant, "allow", formatBadDomain(index));
      await createConsoleEntry(tenant, "deny", formatBadDomain(index + 100));
    }
    await list.refresh();
    expect((await list.up(args)).failures[""]).toContain("would lose 12 of 22 entries (55 %)");
    expect((await list.up({ ...args, confirmRemovals: 12 })).outcome).toBe("updated");
    expect(listHeldEntries(tenant).filter((entry) => entry.startsWith("allow"))).toEqual([]);
    expect(listHeldEntries(tenant)).toHaveLength(22);
  });

  it("is kept when it became a deny after the refresh", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up(ARGUMENTS);
    await createConsoleEntry(tenant, "allow", "clicked.example");
    await list.refresh();
    const [clicked] = tenant.sandbox.allowDenyEntries("acme").filter(({ value }) => value === "clicked.example");
    await tenant.console("PATCH", `/allow_deny_entries/${clicked?.id}`, { list: "deny" });
    const up = await list.up(ARGUMENTS);
    expect(up).toMatchObject({ outcome: "partial" });
    expect(up.reasons.join()).toContain("was moved in the meantime");
    await list.refresh();
    expect(listUndeclared(list)).toEqual({});
    tenant.trace();
    expect((await list.up(ARGUMENTS)).outcome).toBe("same");
    expect(tenant.writes()).toEqual([]);
    const declared = { ...ARGUMENTS, entries: { ...ARGUMENTS.entries, "clicked.example": "allow" } };
    expect((await list.up(declared)).reasons.join()).toContain("an entry already exists, with a different list");
    expect(listHeldEntries(tenant)).toContain("deny clicked.example");
  });

  it("is removed when it has another scope", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up(ARGUMENTS);
    await createConsoleEntry(tenant, "allow", "other.example", { verdict_scope: "graymail" });
    const args = { ...ARGUMENTS, entries: { ...ARGUMENTS.entries, "new.example": "deny" } };
    await list.refresh();
    expect((await list.up(args)).outcome).toBe("updated");
    expect(listHeldEntries(tenant)).toEqual([...DECLARED, "deny new.example"].sort());
  });

  it("is adopted when declared after a refresh", async () => {
    await using listTenant = await startListTenant();
    const { tenant, list } = listTenant;
    await list.up(ARGUMENTS);
    await createConsoleEntry(tenant, "allow", "clicked.example");
    await list.refresh();
    tenant.trace();
    const args = { ...ARGUMENTS, entries: { ...ARGUMENTS.entries, "clicked.example": "deny: INC-9" } };
    expect((await list.up(args)).outcome).toBe("updated");
    expect(tenant.writes()).toEqual([expect.stringContaining('{"list":"deny","comment":"INC-9"} 200')]);
  });
});

describe("value on both lists, with duplicates", () => {
  const buildRow = (id: string, list: string, value: string) => ({
    id,
    list,
    value,
    entry_type: "domain",
    verdict_scope: "global",
    comment: "",
  });

  async function startListService(start: readonly ReturnType<typeof buildRow>[]) {
    let rows = [...start];
    const listTenant = await startListTenant({
      intercept: ({ method, path, query }) => {
        if (method === "DELETE") {
          const id = path.split("/").at(-1);
          rows = rows.filter((row) => row.id !== id);
          return { status: 200, body: { status: 200, results: { deleted: true, id } } };
        }
        const items = rows.filter((row) => row.list === query["list"]);
        const results = { items, page: 1, page_size: 200, total: items.length };
        return { status: 200, body: { status: 200, results } };
      },
    });
    return { ...listTenant, ids: () => rows.map(({ id }) => id) };
  }

  it("loses its allows when the deny is declared", async () => {
    const service = await startListService([
      buildRow("1", "allow", "evil.example"),
      buildRow("2", "deny", "evil.example"),
      buildRow("3", "allow", "evil.example"),
      buildRow("4", "deny", "other.example"),
      buildRow("5", "allow", "other.example"),
    ]);
    await using _tenant = service.tenant;
    const args = { mode: MODE, entries: { "evil.example": "deny" }, maxRemovals: 3 };
    expect((await service.list.up(args)).outcome).toBe("created");
    for (let run = 0; run < 2; run += 1) {
      await service.list.refresh();
      await service.list.up(args);
    }
    expect(service.ids()).toEqual(["2", "4"]);
    await service.list.refresh();
    expect((await service.list.up(args)).outcome).toBe("same");
  });

  it("causes an error when the allow is declared", async () => {
    const service = await startListService([
      buildRow("1", "allow", "evil.example"),
      buildRow("2", "deny", "evil.example"),
    ]);
    await using _tenant = service.tenant;
    const up = await service.list.up({ mode: MODE, entries: { "evil.example": "allow" } });
    expect(up.failures[""]).toContain("contradicts the declaration");
    expect(service.ids()).toEqual(["1", "2"]);
  });
});

describe("list and single entry in one program", () => {
  it("conflict only over an allow", async () => {
    await using listTenant = await startListTenant();
    const { provider } = listTenant.tenant;
    await provider.getResource("allowDenyEntry", "deny").check({ list: "deny", value: "x.example" });
    const list = provider.getResource("allowDenyList", "all");
    expect((await list.check(ARGUMENTS)).failures).toEqual({});
    const allow = provider.getResource("allowDenyEntry", "allow");
    expect((await allow.check({ list: "allow", value: "y.example" })).failures).toEqual({
      value:
        '"allow y.example" would be removed again by AllowDenyList "all", which is exclusive-allows: declare it there, or add it to the `ignore` of that list',
    });
    const late = provider.getResource("allowDenyEntry", "late");
    expect((await late.check({ list: "deny", value: "z.example" })).failures).toEqual({});
  });

  it("conflict in either order, naming the mode", async () => {
    await using listTenant = await startListTenant();
    const { provider } = listTenant.tenant;
    await provider.getResource("allowDenyEntry", "allow").check({ list: "allow", value: "y.example" });
    expect((await provider.getResource("allowDenyList", "all").check(ARGUMENTS)).failures).toEqual({
      mode: 'is "exclusive-allows", so this list would remove allow y.example, which AllowDenyEntry "allow" declares: declare it here, or add it to `ignore`',
    });
  });
});

it("rejects the mode on a VIP list", async () => {
  await using listTenant = await startListTenant();
  const vips = listTenant.tenant.provider.getResource("vipList", "vips");
  expect((await vips.check({ members: [], mode: MODE })).failures).toEqual({
    mode: 'can\'t be "exclusive-allows" on the VIP list, which has no allow entries; write "additive" or "exclusive"',
  });
});

describe.each(["exclusive", MODE])("allow next to a declared deny, first run in mode %s", (mode) => {
  const args = { mode, entries: { "evil.example": "deny" } };

  it.each(["global", "graymail"])("is reported by every run until a refresh shows it: scope %s", async (scope) => {
    const entries = [{ list: "allow", value: "evil.example", verdict_scope: scope }];
    await using tenant = await startLiteralTenant({ entries, allowsDuplicates: true });
    const list = new ManagedResource(tenant, "allowDenyList");
    for (const run of [1, 2]) {
      const { printed, reasons, failures } = await list.up(args);
      expect([...Object.values(failures), ...reasons, printed].join("\n"), `run ${run}`).toMatch(
        /allow.*This list removes it after a refresh: run again with a refresh\./s,
      );
      expect(tenant.service.listContents()).toContain("allow evil.example");
    }
    await list.refresh();
    expect(await list.up(args)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
    expect(await list.up(args)).toMatchObject({ outcome: "same" });
  });
});
