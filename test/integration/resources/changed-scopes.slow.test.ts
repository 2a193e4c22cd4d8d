import { describe, expect, it } from "vitest";
import { type LiteralEntry, type LiteralTenant, startLiteralTenant } from "../../support/literal-service";
import { ManagedResource, type ResourceUpResult } from "../../support/managed-resource";

/*
 * A person changes the scope of a row that a list manages. The scope is part of an entry's key, so the row has another
 * key then. The list keeps managing the row.
 */

const VALUE = "partner.example";
const ALLOW = "allow (risk accepted: a partner): INC-7";
const MODES = ["additive", "exclusive"] as const;

interface ScopedList extends AsyncDisposable {
  readonly tenant: LiteralTenant;
  readonly up: (entries: Record<string, string>) => Promise<ResourceUpResult>;
  readonly refresh: () => Promise<string>;
  readonly destroy: () => Promise<ResourceUpResult>;
  /** The list's entries in state. */
  readonly known: () => unknown;
  /** The rows of the value: `ID allow global INC-7`. */
  readonly rows: () => string[];
  readonly change: (id: string, fields: Partial<LiteralEntry>) => void;
}

/** Applies a list with these entries, next to an entry that never changes. */
async function applyList(mode: string, entries: Record<string, string>, allowsDuplicates = true): Promise<ScopedList> {
  const tenant = await startLiteralTenant({ allowsDuplicates });
  const list = new ManagedResource(tenant, "allowDenyList");
  const updateList = (declared: Record<string, string>) =>
    list.up({ ...(mode === "exclusive" ? { mode } : {}), entries: { ...declared, "other.example": "deny" } });
  expect((await updateList(entries)).outcome).toBe("created");
  return {
    tenant,
    up: updateList,
    async refresh() {
      const before = tenant.provider.printed.length;
      await list.refresh();
      return (await tenant.provider.readPrintedLines()).slice(before).join("\n");
    },
    destroy: () => list.destroy(),
    known: () => list.properties?.["entries"],
    rows: () =>
      tenant.service.entries
        .filter(({ value }) => value === VALUE)
        .map((row) => `${row.id} ${row.list} ${row.verdict_scope} ${row.comment}`.trimEnd()),
    change(id, fields) {
      Object.assign(tenant.service.entries.find((row) => row.id === id) ?? {}, fields);
    },
    [Symbol.asyncDispose]: () => tenant[Symbol.asyncDispose](),
  };
}

/** Applies one allow, and returns it with the id of its row. */
async function applyAllow(mode: string, allowsDuplicates = true) {
  const setting = await applyList(mode, { [VALUE]: ALLOW }, allowsDuplicates);
  const [own = ""] = setting.rows().map((row) => row.split(" ")[0] ?? "");
  return { setting, own };
}

const EDITS = {
  scope: { verdict_scope: "graymail" },
  "scope and comment": { verdict_scope: "graymail", comment: "by hand" },
};

describe.each(MODES)("scope changed by hand in an %s list", (mode) => {
  describe.each(Object.entries(EDITS))("%s, after a refresh", (_name, edit) => {
    it("is changed back in place", async () => {
      const { setting, own } = await applyAllow(mode);
      await using _ = setting;
      setting.change(own, edit);
      await setting.refresh();
      expect(Object.keys(setting.known() as object)).toEqual(["other.example", `${VALUE} (graymail)`]);
      const up = await setting.up({ [VALUE]: ALLOW });
      expect(up).toMatchObject({
        outcome: "updated",
        details: { [`entries["${VALUE} (graymail)"]`]: "DELETE", [`entries["${VALUE}"]`]: "ADD" },
      });
      expect(setting.rows()).toEqual([`${own} allow global INC-7`]);
      expect((await setting.up({ [VALUE]: ALLOW })).outcome).toBe("same");
    });

    it("is removed with its declaration", async () => {
      const { setting, own } = await applyAllow(mode);
      await using _ = setting;
      setting.change(own, edit);
      await setting.refresh();
      expect((await setting.up({})).outcome).toBe("updated");
      expect(setting.rows()).toEqual([]);
    });

    it("is removed with the list", async () => {
      const { setting, own } = await applyAllow(mode);
      await using _ = setting;
      setting.change(own, edit);
      await setting.refresh();
      const destroyed = await setting.destroy();
      // An exclusive list keeps only what it never declared.
      expect(destroyed.outcome).toBe("updated");
      expect(setting.rows()).toEqual([]);
    });

    it("moves to the other list in place", async () => {
      const { setting, own } = await applyAllow(mode);
      await using _ = setting;
      setting.change(own, edit);
      await setting.refresh();
      expect((await setting.up({ [VALUE]: "deny: INC-8" })).outcome).toBe("updated");
      expect(setting.rows()).toEqual([`${own} deny global INC-8`]);
    });
  });

  it("is changed back at a service with one row per value", async () => {
    const { setting, own } = await applyAllow(mode, false);
    await using _ = setting;
    setting.change(own, EDITS.scope);
    await setting.refresh();
    expect((await setting.up({ [VALUE]: ALLOW })).outcome).toBe("updated");
    expect(setting.rows()).toEqual([`${own} allow global INC-7`]);
  });

  it("is changed back without a refresh", async () => {
    const { setting, own } = await applyAllow(mode);
    await using _ = setting;
    setting.change(own, EDITS.scope);
    expect((await setting.up({ [VALUE]: ALLOW, "new.example": "deny" })).outcome).toBe("updated");
    expect(setting.rows()).toEqual([`${own} allow global INC-7`]);
  });

  it("moves to the other list without a refresh", async () => {
    const { setting, own } = await applyAllow(mode);
    await using _ = setting;
    setting.change(own, EDITS.scope);
    expect((await setting.up({ [VALUE]: "deny: INC-8" })).outcome).toBe("updated");
    expect(setting.rows()).toEqual([`${own} deny global INC-8`]);
  });

  it("fails a removal without a refresh", async () => {
    const { setting, own } = await applyAllow(mode);
    await using _ = setting;
    setting.change(own, EDITS.scope);
    const up = await setting.up({});
    expect(up.outcome).toBe("partial");
    expect(up.reasons.join("\n")).toMatch(/changed in the meantime.*graymail/);
    await setting.refresh();
    expect((await setting.up({})).outcome).toBe("updated");
    expect(setting.rows()).toEqual([]);
  });
});

describe("one of two scopes changed by hand", () => {
  const both = { [VALUE]: ALLOW, [`${VALUE} (graymail)`]: ALLOW };

  it("is changed back in place", async () => {
    await using setting = await applyList("additive", both);
    const before = setting.rows();
    const [changed = ""] = before.filter((row) => row.includes("global")).map((row) => row.split(" ")[0] ?? "");
    setting.change(changed, { verdict_scope: "bulk" });
    await setting.refresh();
    expect((await setting.up(both)).outcome).toBe("updated");
    expect(setting.rows()).toEqual(before);
  });

  it("is changed back in place when both were", async () => {
    await using setting = await applyList("additive", both);
    const before = setting.rows();
    for (const [index, row] of before.entries())
      setting.change(row.split(" ")[0] ?? "", {
        verdict_scope: ["bulk", "spam"][index] ?? "",
        comment: `by hand ${index}`,
      });
    await setting.refresh();
    expect((await setting.up(both)).outcome).toBe("updated");
    expect(
      setting
        .rows()
        .map((row) => row.replace(/^\S+ /, ""))
        .sort(),
    ).toEqual(["allow global INC-7", "allow graymail INC-7"]);
    expect(
      setting
        .rows()
        .map((row) => row.split(" ")[0])
        .sort(),
    ).toEqual(before.map((row) => row.split(" ")[0]).sort());
  });
});

describe("other rows of the value", () => {
  it("distinguishes rows of one value by comment", async () => {
    const { setting, own } = await applyAllow("additive");
    await using _ = setting;
    setting.tenant.service.add({ value: VALUE, list: "allow", id: "console", verdict_scope: "bulk", comment: "mine" });
    setting.change(own, EDITS.scope);
    await setting.refresh();
    await setting.up({ [VALUE]: ALLOW });
    expect(setting.rows()).toEqual([`${own} allow global INC-7`, "console allow bulk mine"]);
  });

  it("are named when several could be the changed one", async () => {
    const { setting, own } = await applyAllow("additive");
    await using _ = setting;
    setting.tenant.service.add({ value: VALUE, list: "allow", id: "console", verdict_scope: "bulk", comment: "mine" });
    setting.change(own, EDITS["scope and comment"]);
    const printed = await setting.refresh();
    expect(printed).toContain("id console");
    expect(printed).toContain(`id ${own}`);
    expect(setting.known()).toEqual({ "other.example": "deny" });
  });

  it("are named when the service creates a second row in addition to the changed one", async () => {
    const { setting, own } = await applyAllow("additive");
    await using _ = setting;
    setting.change(own, EDITS["scope and comment"]);
    const up = await setting.up({ [VALUE]: ALLOW, "new.example": "deny" });
    expect(up.printed).toContain(`id ${own}`);
  });
});

it("changes a protected entry back", async () => {
  await using tenant = await startLiteralTenant({ allowsDuplicates: true });
  const list = new ManagedResource(tenant, "allowDenyList");
  const declared = { entries: { [VALUE]: ALLOW, "other.example": "deny" }, protect: [VALUE] };
  await list.up(declared);
  const row = tenant.service.entries.find(({ value }) => value === VALUE);
  Object.assign(row ?? {}, EDITS.scope);
  await list.refresh();
  expect((await list.up(declared)).outcome).toBe("updated");
  expect(row).toMatchObject({ verdict_scope: "global" });
});
