import { describe, expect, it } from "vitest";
import { type LiteralEntry, type LiteralTenant, startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";

/*
 * A service permits several rows for one value. These tests cover which row a resource changes, removes and names after
 * a person has added, moved or replaced one, or after an interrupted run.
 */

const VALUE = "evil.example";
const deny = { list: "deny", value: VALUE };
const allow = { list: "allow", value: VALUE, acceptRisk: "a partner" };
const ALLOW = "allow (risk accepted: a partner)";
const KINDS = ["allowDenyEntry", "allowDenyList"] as const;

/**
 * Returns the arguments of a resource of this kind: the value on a list, and for a list resource a second value too.
 */
function buildArguments(kind: (typeof KINDS)[number], list: "allow" | "deny", more: object = {}) {
  if (kind === "allowDenyEntry") return { ...(list === "allow" ? allow : deny), ...more };
  return { entries: { [VALUE]: list === "allow" ? ALLOW : "deny", "other.example": "deny" }, ...more };
}

const startTenantHolding = (entries: readonly Partial<LiteralEntry>[] = []): Promise<LiteralTenant> =>
  startLiteralTenant({ allowsDuplicates: true, entries });

function createSharedResource(tenant: LiteralTenant, kind: (typeof KINDS)[number] = "allowDenyEntry", name = "one") {
  return new ManagedResource(tenant, kind, { name, sharesRuns: true });
}

const listTenantRowIds = ({ service }: LiteralTenant): string[] =>
  service.entries.filter(({ value }) => value === VALUE).map(({ id }) => id);

/** Deletes a row as a person does in the console. */
function removeByHand({ service }: LiteralTenant, id: string): void {
  service.entries.splice(
    service.entries.findIndex((row) => row.id === id),
    1,
  );
}

/** Returns the text printed while the work ran. */
async function capturePrinted({ provider }: LiteralTenant, work: () => Promise<unknown>): Promise<string> {
  const before = provider.printed.length;
  await work();
  return (await provider.readPrintedLines()).slice(before).join("\n");
}

/** `pulumi up --refresh`: refreshes and updates in one provider process. */
async function refreshAndUp(tenant: LiteralTenant, resource: ManagedResource, args: object) {
  await tenant.provider.startNextRun();
  await resource.refresh();
  return await resource.up(args as Record<string, unknown>);
}

describe("`up --refresh` next to an unmanaged allow", () => {
  it("fails after an interrupted move until the allow is gone", async () => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up(allow);
    for (const id of ["second", "third"]) tenant.service.add({ ...allow, id });
    tenant.service.undeletable.add("third");
    await tenant.provider.startNextRun();
    expect(await entry.up(deny)).toMatchObject({ outcome: "failed" });
    tenant.service.undeletable.clear();
    for (const run of [1, 2]) {
      const up = await refreshAndUp(tenant, entry, deny);
      expect(up, `run ${run}`).toMatchObject({ outcome: "failed" });
      expect(up.failures[""]).toContain("id third");
      expect(entry.properties).toMatchObject({ conflict: expect.stringContaining("id third") });
    }
    removeByHand(tenant, "third");
    expect(await refreshAndUp(tenant, entry, deny)).toMatchObject({ outcome: "same" });
  });

  it("fails after a person moved the resource's own row", async () => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up(allow);
    const [own] = tenant.service.entries;
    Object.assign(own ?? {}, { list: "deny" });
    tenant.service.add({ ...allow, id: "console" });
    for (const run of [1, 2])
      expect(await refreshAndUp(tenant, entry, deny), `run ${run}`).toMatchObject({ outcome: "failed" });
    expect(listTenantRowIds(tenant)).toContain("console");
  });

  it("fails a new deny after a person moved another resource's row", async () => {
    await using tenant = await startTenantHolding();
    const [old, next] = ["old", "next"].map((name) => createSharedResource(tenant, "allowDenyEntry", name));
    await old?.up({ ...allow, verdictScope: "graymail" });
    const [own] = tenant.service.entries;
    Object.assign(own ?? {}, { list: "deny" });
    tenant.service.add({ ...allow, id: "console", verdict_scope: "graymail" });
    await tenant.provider.startNextRun();
    await old?.refresh();
    const up = await next?.up(deny);
    expect(up).toMatchObject({ outcome: "failed" });
    expect(up?.failures[""]).toContain("id console");
  });
});

describe("undeclared allow of another scope", () => {
  it.each(KINDS)("is removed by the deny of an %s, even if retained", async (kind) => {
    await using tenant = await startTenantHolding();
    const retained = createSharedResource(tenant, "allowDenyEntry", "retained");
    await retained.up({ ...allow, verdictScope: "graymail" });
    await tenant.provider.startNextRun();
    await retained.refresh();
    const next = createSharedResource(tenant, kind, "next");
    const up = await next.up(buildArguments(kind, "deny"));
    expect(up).toMatchObject({ outcome: "created", printed: expect.stringContaining("id row-1") });
    expect(tenant.service.listContents()).toContain("deny evil.example");
    expect(tenant.service.listContents()).not.toContain("allow evil.example");
  });

  it("is removed by another entry's move to the deny list", async () => {
    await using tenant = await startTenantHolding();
    const [retained, moved] = ["retained", "moved"].map((name) => createSharedResource(tenant, "allowDenyEntry", name));
    await retained?.up({ ...allow, verdictScope: "graymail" });
    await moved?.up(allow);
    await tenant.provider.startNextRun();
    await retained?.refresh();
    await moved?.refresh();
    expect(await moved?.up(deny)).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });
});

describe("second row of the same value", () => {
  it.each(KINDS)("is reported by the refresh of an %s", async (kind) => {
    await using tenant = await startTenantHolding();
    const resource = createSharedResource(tenant, kind);
    await resource.up(buildArguments(kind, "deny"));
    tenant.service.add({ ...deny, id: "console", created_by: "Mei Chen" });
    await tenant.provider.startNextRun();
    const printed = await capturePrinted(tenant, () => resource.refresh());
    expect(printed).toMatch(/id console.*created by Mei Chen.*[Rr]emoving .* removes all of them/s);
    expect(printed).not.toContain("left as before");
    const writes = tenant.service.writes.length;
    expect(await resource.up(buildArguments(kind, "deny"))).toMatchObject({ outcome: "same" });
    expect(tenant.service.writes).toHaveLength(writes);
  });

  it.each(KINDS)("is reported by the run of an %s that removes it", async (kind) => {
    await using tenant = await startTenantHolding();
    const resource = createSharedResource(tenant, kind);
    await resource.up(buildArguments(kind, "deny"));
    const [own = ""] = listTenantRowIds(tenant);
    tenant.service.add({ ...deny, id: "console" });
    await tenant.provider.startNextRun();
    const { printed } = await resource.destroy();
    expect(listTenantRowIds(tenant)).toEqual([]);
    expect(printed).toMatch(/existed 2 times; all of them are removed/);
    for (const id of [own, "console"]) expect(printed).toContain(`id ${id}`);
  });

  it("is removed by a list, even if its comment differs", async () => {
    await using tenant = await startTenantHolding();
    const list = createSharedResource(tenant, "allowDenyList");
    await list.up(buildArguments("allowDenyList", "deny"));
    tenant.service.add({ ...deny, id: "console", comment: "by hand" });
    const up = await refreshAndUp(tenant, list, { entries: { "other.example": "deny" } });
    expect(up.outcome).toBe("updated");
    expect(tenant.service.listContents()).toEqual(["deny other.example"]);
    expect(up.printed).toMatch(/existed 2 times; all of them are removed.*id console/);
  });

  it.each(["console", "own"])("keeps the resource in state when a deletion fails: the %s row's", async (failing) => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up(deny);
    const [own = ""] = listTenantRowIds(tenant);
    tenant.service.add({ ...deny, id: "console" });
    tenant.service.undeletable.add(failing === "own" ? own : failing);
    await tenant.provider.startNextRun();
    expect(await entry.destroy()).toMatchObject({ outcome: "failed" });
    tenant.service.undeletable.clear();
    await tenant.provider.startNextRun();
    const { outcome, printed } = await entry.destroy();
    expect([outcome, listTenantRowIds(tenant)]).toEqual(["updated", []]);
    expect(printed).not.toContain("in its place");
  });

  it("keeps the resource in state when its own row is unlisted", async () => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up(deny);
    tenant.service.hide(2);
    tenant.service.add({ ...deny, id: "console" });
    tenant.service.undeletable.add("console");
    await tenant.provider.startNextRun();
    expect(await entry.destroy()).toMatchObject({ outcome: "failed" });
    tenant.service.undeletable.clear();
    await tenant.provider.startNextRun();
    expect(await entry.destroy()).toMatchObject({ outcome: "updated" });
    expect(listTenantRowIds(tenant)).toEqual([]);
  });

  it("is removed by a move to the other list", async () => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up(deny);
    tenant.service.add({ ...deny, id: "console" });
    const { outcome, printed } = await refreshAndUp(tenant, entry, allow);
    expect([outcome, tenant.service.listContents()]).toEqual(["updated", ["allow evil.example"]]);
    expect(printed).toMatch(/Removed .*id console/);
  });

  it("is reported removed, not left, by an adopting deny", async () => {
    await using tenant = await startTenantHolding([allow, { ...allow, id: "second" }]);
    const { outcome, printed } = await createSharedResource(tenant).up({ ...deny, adopt: true });
    expect(outcome).toBe("created");
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
    expect(printed).not.toMatch(/left as before|in the console/);
    expect(printed).toMatch(/Removed .*id second/);
  });
});

describe("entry that a person deleted and recreated", () => {
  it.each([
    ["on its list", {}],
    ["on its list, with another comment", { comment: "by hand" }],
    ["on the other list", { list: "allow" }],
  ])("is reported by a refresh as another row: %s", async (_name, change) => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up(deny);
    const [own = ""] = listTenantRowIds(tenant);
    removeByHand(tenant, own);
    tenant.service.add({ ...deny, id: "again", created_by: "Mei Chen", ...change });
    await tenant.provider.startNextRun();
    const printed = await capturePrinted(tenant, () => entry.refresh());
    expect(printed).toMatch(
      new RegExp(`id ${own}.*deleted.*id again.*created by Mei Chen.*[Rr]emoving .* deletes`, "s"),
    );
    await tenant.provider.startNextRun();
    expect(await capturePrinted(tenant, () => entry.refresh())).not.toContain("id again");
    expect(await entry.destroy()).toMatchObject({ outcome: "updated" });
    expect(listTenantRowIds(tenant)).toEqual([]);
  });

  it("is reported by an update without a refresh", async () => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up(deny);
    removeByHand(tenant, listTenantRowIds(tenant)[0] ?? "");
    tenant.service.add({ ...deny, id: "again" });
    await tenant.provider.startNextRun();
    const up = await entry.up({ ...deny, comment: "INC-7" });
    expect(up).toMatchObject({ outcome: "updated", printed: expect.stringContaining("id again") });
  });
});

describe("person's deny next to the allow of an entry that adopts", () => {
  it("is kept when the comment changes", async () => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up({ ...allow, adopt: true });
    const [own = ""] = listTenantRowIds(tenant);
    tenant.service.add({ ...deny, id: "console" });
    await tenant.provider.startNextRun();
    const up = await entry.up({ ...allow, adopt: true, comment: "INC-7" });
    expect(up).toMatchObject({ outcome: "updated", printed: expect.stringContaining("id console") });
    expect(listTenantRowIds(tenant)).toEqual([own, "console"]);
  });

  it("is kept when the allow is renamed", async () => {
    await using tenant = await startTenantHolding();
    const [old, renamed] = ["old", "renamed"].map((name) => createSharedResource(tenant, "allowDenyEntry", name));
    await old?.up({ ...allow, adopt: true });
    const [own = ""] = listTenantRowIds(tenant);
    tenant.service.add({ ...deny, id: "console" });
    await tenant.provider.startNextRun();
    await old?.refresh();
    await renamed?.up({ ...allow, adopt: true });
    await old?.destroy();
    expect(listTenantRowIds(tenant)).toEqual([own, "console"]);
  });
});

it("keeps a person's deny when the allow moves from a list to an entry", async () => {
  await using tenant = await startTenantHolding();
  const list = createSharedResource(tenant, "allowDenyList", "list");
  const entry = createSharedResource(tenant);
  await list.up(buildArguments("allowDenyList", "allow"));
  const [own = ""] = listTenantRowIds(tenant);
  tenant.service.add({ ...deny, id: "console" });
  for (const run of [1, 2]) {
    await tenant.provider.startNextRun();
    await list.refresh();
    if (run === 2) await entry.refresh();
    expect((await entry.up(allow)).outcome).toBe(run === 1 ? "created" : "same");
    const up = await list.up({ entries: { "other.example": "deny" } });
    expect(up.outcome, up.reasons.join()).toBe(run === 1 ? "updated" : "same");
    if (run === 1) expect(up.printed).toContain("id console");
  }
  expect(listTenantRowIds(tenant)).toEqual([own, "console"]);
});

describe("row that the program declares during its removal", () => {
  it.each(["deny", "allow"] as const)("stays: for the %s list", async (name) => {
    await using tenant = await startTenantHolding();
    const [old, next] = ["old", "next"].map((item) => createSharedResource(tenant, "allowDenyEntry", item));
    await old?.up(deny);
    const [own = ""] = listTenantRowIds(tenant);
    for (const id of ["console", "third"]) tenant.service.add({ ...deny, id });
    await tenant.provider.startNextRun();
    let up: ReturnType<ManagedResource["up"]> | undefined;
    tenant.service.beforeDelete = async (id) => {
      if (id !== "console" || up !== undefined) return;
      up = next?.up({ ...(name === "deny" ? deny : allow), comment: "INC-7", adopt: true });
      await expect.poll(() => tenant.service.writes.join()).toContain(`PATCH ${own}`);
      // This answer arrives before the answer to the deletion.
      if (name === "deny") await up;
    };
    const removal = await old?.destroy();
    expect(await up).toMatchObject({ outcome: "created" });
    expect(removal).toMatchObject({
      outcome: "updated",
      printed: expect.stringMatching(name === "deny" ? /is kept: the program declares it/ : /is now on the allow list/),
    });
    expect(listTenantRowIds(tenant)).toEqual(name === "deny" ? [own, "third"] : [own]);
  });
});

describe("scope that changes next to a duplicate", () => {
  it.each([
    ["global", "graymail"],
    ["graymail", "global"],
  ])("is changed for all rows of an entry: from %s to %s", async (from, to) => {
    await using tenant = await startTenantHolding();
    const entry = createSharedResource(tenant);
    await entry.up({ ...allow, verdictScope: from });
    const [own = ""] = listTenantRowIds(tenant);
    tenant.service.add({ ...allow, id: "console", verdict_scope: from });
    await tenant.provider.startNextRun();
    const up = await entry.up({ ...allow, verdictScope: to });
    expect(up).toMatchObject({ outcome: "updated", printed: expect.stringMatching(/Removed .*id console/) });
    expect(tenant.service.entries).toMatchObject([{ id: own, verdict_scope: to }]);
  });

  it.each([["by hand"], ["INC-7"]])(
    "is changed in the list's own row, not in a duplicate with comment %s",
    async (comment) => {
      await using tenant = await startTenantHolding();
      const list = createSharedResource(tenant, "allowDenyList");
      const buildListArguments = (key: string) => ({ entries: { [key]: "deny: INC-7", "other.example": "deny" } });
      await list.up(buildListArguments(VALUE));
      const [own] = tenant.service.entries;
      Object.assign(own ?? {}, { id: "own" });
      const duplicate = tenant.service.add({ ...deny, id: "console", comment });
      tenant.service.entries.sort((a, b) => Number(b === duplicate) - Number(a === duplicate));
      if (comment === "INC-7") tenant.service.entries.reverse();
      await tenant.provider.startNextRun();
      const up = await list.up(buildListArguments(`${VALUE} (graymail)`));
      expect(up, up.reasons.join()).toMatchObject({
        outcome: "updated",
        printed: expect.stringContaining("id console"),
      });
      const rows = tenant.service.entries.filter(({ value }) => value === VALUE);
      expect(rows.map((row) => `${row.id} ${row.verdict_scope} ${row.comment}`)).toEqual(["own graymail INC-7"]);
      expect(await list.up(buildListArguments(`${VALUE} (graymail)`))).toMatchObject({ outcome: "same" });
    },
  );
});

describe("messages", () => {
  it("don't claim that a row stays when another resource removes it", async () => {
    await using tenant = await startTenantHolding();
    const [first, second] = ["first", "second"].map((name) => createSharedResource(tenant, "allowDenyEntry", name));
    await first?.up(deny);
    await second?.up({ ...deny, verdictScope: "graymail" });
    await tenant.provider.startNextRun();
    const printed = await capturePrinted(tenant, async () => {
      await first?.destroy();
      await second?.destroy();
    });
    expect(printed).not.toContain("It stays");
    expect(tenant.service.entries).toEqual([]);
  });

  it("don't name a row managed by another resource after a refresh", async () => {
    await using tenant = await startTenantHolding();
    const [first, second] = ["first", "second"].map((name) => createSharedResource(tenant, "allowDenyEntry", name));
    await first?.up(deny);
    await second?.up({ ...deny, verdictScope: "graymail" });
    await tenant.provider.startNextRun();
    await first?.refresh();
    await second?.refresh();
    const printed = await capturePrinted(tenant, async () => {
      await first?.destroy();
      await second?.destroy();
    });
    expect(printed).not.toContain("is also at the tenant as");
    expect(tenant.service.entries).toEqual([]);
  });

  it.each(KINDS)("don't advise removing an allow that %s doesn't declare", async (kind) => {
    await using tenant = await startTenantHolding();
    const resource = createSharedResource(tenant, kind);
    await resource.up(buildArguments(kind, "deny"));
    // A person moved the row and denied the value in another scope.
    const own = tenant.service.entries.find(({ value }) => value === VALUE);
    Object.assign(own ?? {}, { list: "allow" });
    tenant.service.add({ ...deny, id: "console", verdict_scope: "graymail" });
    await tenant.provider.startNextRun();
    const printed = await capturePrinted(tenant, async () => {
      await resource.refresh();
      await resource.up(buildArguments(kind, "deny"));
    });
    expect(printed).not.toContain("don't declare the allow");
    expect(tenant.service.listContents()).not.toContain("allow evil.example");
  });

  it.each(KINDS)("don't advise removing an allow that %s moves to the deny list", async (kind) => {
    await using tenant = await startTenantHolding();
    const resource = createSharedResource(tenant, kind);
    await resource.up(buildArguments(kind, "allow"));
    tenant.service.add({ ...deny, id: "console" });
    await tenant.provider.startNextRun();
    await resource.refresh();
    await tenant.provider.startNextRun();
    const { outcome, printed } = await resource.up(buildArguments(kind, "deny"));
    expect(outcome).toBe("updated");
    expect(printed).not.toContain("don't declare the allow");
    expect(tenant.service.listContents()).not.toContain("allow evil.example");
  });
});

it("reports a person's deny when the allow is renamed", async () => {
  await using tenant = await startTenantHolding();
  const [old, renamed] = ["old", "renamed"].map((name) => createSharedResource(tenant, "allowDenyEntry", name));
  await old?.up(allow);
  const [own = ""] = listTenantRowIds(tenant);
  tenant.service.add({ ...deny, id: "console" });
  await tenant.provider.startNextRun();
  await old?.refresh();
  const up = await renamed?.up(allow);
  expect(up).toMatchObject({ outcome: "created", printed: expect.stringContaining("id console") });
  expect(renamed?.properties).toMatchObject({ conflict: expect.stringContaining("id console") });
  await old?.destroy();
  expect(listTenantRowIds(tenant)).toEqual([own, "console"]);
});

it("reports that one of two equal concurrent resources adopted a row", async () => {
  await using tenant = await startTenantHolding();
  const resources = ["one", "other"].map((name) => createSharedResource(tenant, "allowDenyEntry", name));
  const printed = await capturePrinted(tenant, () => Promise.all(resources.map((resource) => resource.up(deny))));
  expect(printed.split("\n").filter((line) => line.includes("Adopted"))).toHaveLength(1);
  expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
});
