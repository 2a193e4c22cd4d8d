import { describe, expect, it } from "vitest";
import { type LiteralService, type LiteralTenant, startLiteralTenant } from "../../support/literal-service";
import { ManagedResource } from "../../support/managed-resource";

/*
 * A service permits several rows for one value, and somebody adds one in the console on the other list. The stack keeps
 * its own row, names the other one in each run, and removes it only on request.
 */

const VALUE = "evil.example";
const deny = { list: "deny", value: VALUE };
const allow = { list: "allow", value: VALUE, acceptRisk: "a partner" };
const ALLOW = "allow (risk accepted: a partner)";

type EntryHandler = "allowDenyEntry" | "allowDenyList";
const KINDS = ["allowDenyEntry", "allowDenyList"] as const;

/**
 * Returns the arguments of a resource of this kind: the value on a list, and for a list resource a second value too.
 */
function buildArguments(kind: EntryHandler, list: "allow" | "deny", more: object = {}): Record<string, unknown> {
  if (kind === "allowDenyEntry") return { ...(list === "allow" ? allow : deny), ...more };
  return { entries: { [VALUE]: list === "allow" ? ALLOW : "deny", "other.example": "deny" }, ...more };
}

const listRowIds = ({ entries }: LiteralService): string[] =>
  entries.filter(({ value }) => value === VALUE).map(({ id }) => id);

const startPermissiveTenant = (): Promise<LiteralTenant> => startLiteralTenant({ allowsDuplicates: true });

describe.each(KINDS)("console allow next to the deny of an %s", (kind) => {
  it("fails each run after a refresh", async () => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildArguments(kind, "deny"));
    const { id } = resource;
    tenant.service.add({ ...deny, list: "allow", id: "console" });
    const written = tenant.service.writes.length;
    for (const run of [1, 2]) {
      await resource.refresh();
      expect(resource.id, `run ${run}`).toBe(id);
      if (kind === "allowDenyEntry") expect(resource.properties).toMatchObject({ list: "deny" });
      const up = await resource.up(buildArguments(kind, "deny"));
      expect(["failed", "partial"], `run ${run}`).toContain(up.outcome);
      expect(up.failures[""] + up.reasons.join(), `run ${run}`).toContain("id console");
    }
    expect(tenant.service.writes).toHaveLength(written);
  });

  it("stays when the resource is destroyed", async () => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildArguments(kind, "deny"));
    tenant.service.add({ ...deny, list: "allow", id: "console" });
    await resource.refresh();
    const { printed } = await resource.destroy();
    expect(listRowIds(tenant.service)).toEqual(["console"]);
    expect(printed).toContain("id console");
  });

  it("is removed when the program adopts, after a preview", async () => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildArguments(kind, "deny", { adopt: true }));
    const own = listRowIds(tenant.service);
    tenant.service.add({ ...deny, list: "allow", id: "console" });
    await resource.refresh();
    const up = await resource.up(buildArguments(kind, "deny", { adopt: true }));
    expect(up.outcome).toBe("updated");
    expect(Object.keys(up.details)).not.toEqual([]);
    expect(listRowIds(tenant.service)).toEqual(own);
  });
});

it("keeps a console allow when the deny is renamed", async () => {
  await using tenant = await startPermissiveTenant();
  const [old, renamed] = ["old", "renamed"].map(
    (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
  );
  await old?.up(deny);
  tenant.service.add({ ...deny, list: "allow", id: "console" });
  await tenant.provider.startNextRun();
  await old?.refresh();
  expect((await renamed?.up(deny))?.failures[""]).toMatch(/id console.*adopt: true/s);
  expect(listRowIds(tenant.service)).toContain("console");
});

describe.each(KINDS)("console deny next to the allow of an %s", (kind) => {
  it.each(["global", "graymail"])("is only a warning for a deny of %s mail", async (scope) => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildArguments(kind, "allow"));
    const console = tenant.service.add({ ...deny, id: "console", verdict_scope: scope });
    const capturePrinted = async (work: () => Promise<unknown>): Promise<string> => {
      const before = tenant.provider.printed.length;
      await work();
      return (await tenant.provider.readPrintedLines()).slice(before).join("\n");
    };
    const named = /evil\.example.*doesn't define which of the two takes precedence/s;
    expect(await capturePrinted(() => resource.refresh())).toMatch(named);
    for (const run of [1, 2]) {
      const up = await resource.up(buildArguments(kind, "allow"));
      expect([up.outcome, up.printed], `run ${run}`).toEqual(["same", expect.stringMatching(named)]);
    }
    const comment =
      kind === "allowDenyEntry"
        ? buildArguments(kind, "allow", { comment: "INC-7" })
        : { entries: { [VALUE]: ALLOW, "other.example": "deny: INC-7" } };
    expect(await resource.up(comment)).toMatchObject({
      outcome: "updated",
      printed: expect.stringMatching(named),
    });
    tenant.service.entries.splice(tenant.service.entries.indexOf(console), 1);
    expect(await capturePrinted(() => resource.refresh())).not.toMatch(named);
    expect(await resource.up(comment)).toMatchObject({ outcome: "same", printed: "" });
  });
});

it.each(["ignore", "mode"])("reports no console deny covered by the list's %s", async (option) => {
  await using tenant = await startPermissiveTenant();
  const list = new ManagedResource(tenant, "allowDenyList");
  const options = option === "ignore" ? { ignore: [`deny:${VALUE}`] } : { mode: "exclusive" };
  await list.up(buildArguments("allowDenyList", "allow", options));
  tenant.service.add({ ...deny, id: "console" });
  await list.refresh();
  expect(tenant.provider.printed.join()).not.toContain("which of the two takes precedence");
});

describe.each(KINDS)("an %s that returns 404 while still listed", (kind) => {
  const rest = kind === "allowDenyEntry" ? undefined : { entries: { "other.example": "deny" } };

  it("stays in state until a later run deletes it", async () => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildArguments(kind, "allow"));
    tenant.service.answers404 = true;
    const removeResource = () => (rest === undefined ? resource.destroy() : resource.up(rest));
    const failed = await removeResource();
    expect(["failed", "partial"]).toContain(failed.outcome);
    expect(failed.failures[""] + failed.reasons.join()).toMatch(/returns 404 for the deletion of.*still shows it/s);
    expect(resource.properties).toBeDefined();
    tenant.service.answers404 = false;
    expect(await removeResource()).toMatchObject({ outcome: "updated" });
    expect(listRowIds(tenant.service)).toEqual([]);
  });

  it("is neither moved nor created twice", async () => {
    await using tenant = await startPermissiveTenant();
    const resource = new ManagedResource(tenant, kind, { name: "one" });
    await resource.up(buildArguments(kind, "allow"));
    tenant.service.answers404 = true;
    const up = await resource.up(buildArguments(kind, "deny"));
    expect(up.failures[""] + up.reasons.join()).toMatch(/returns 404 for the change of.*still shows it/s);
    expect(listRowIds(tenant.service)).toHaveLength(1);
    tenant.service.answers404 = false;
    expect(await resource.up(buildArguments(kind, "deny"))).toMatchObject({ outcome: "updated" });
    expect(tenant.service.listContents()).toContain("deny evil.example");
    expect(tenant.service.listContents()).not.toContain("allow evil.example");
  });
});

it("accepts a deleted entry as gone while it is still listed", async () => {
  await using tenant = await startLiteralTenant({ allowsDuplicates: true, changesBehind: 4 });
  const entry = new ManagedResource(tenant, "allowDenyEntry", { name: "one" });
  await entry.up(allow);
  const [row] = tenant.service.entries;
  await fetch(`${tenant.service.url}/api/v1/settings/allow_deny_entries/${row?.id}`, { method: "DELETE" });
  expect(await entry.destroy()).toMatchObject({
    outcome: "updated",
    printed: expect.stringContaining("was already gone"),
  });
});

describe("two entries of one value in two spellings", () => {
  it.each(["one after the other", "at once"])("are both reported removed: %s", async (order) => {
    await using tenant = await startLiteralTenant({
      allowsDuplicates: true,
      entries: ["evil.example", "Evil.example"].map((value) => ({ list: "allow", value })),
    });
    const [first, second] = ["first", "second"].map(
      (name) => new ManagedResource(tenant, "allowDenyEntry", { name, sharesRuns: true }),
    );
    await first?.up({ ...allow, value: "evil.example" });
    await second?.up({ ...allow, value: "Evil.example" });
    if (second?.properties !== undefined) Object.assign(second, { id: "row-2" });
    await tenant.provider.startNextRun();
    const before = tenant.provider.printed.length;
    if (order === "at once") await Promise.all([first?.destroy(), second?.destroy()]);
    else {
      await first?.destroy();
      await second?.destroy();
    }
    const printed = (await tenant.provider.readPrintedLines()).slice(before).join("\n");
    expect(tenant.service.listContents()).toEqual([]);
    expect(printed).not.toContain("already gone");
    expect(printed).not.toContain("API key");
  });
});

describe("value that changes its resource and its list at once", () => {
  it.each([
    ["an entry to a list", "allowDenyEntry", "allowDenyList"],
    ["a list to another", "allowDenyList", "allowDenyList"],
    ["a list to an entry", "allowDenyList", "allowDenyEntry"],
  ] as const)("requires a refresh first: from %s", async (_name, from, to) => {
    await using tenant = await startPermissiveTenant();
    const before = new ManagedResource(tenant, from, { name: "before", sharesRuns: true });
    const after = new ManagedResource(tenant, to, { name: "after", sharesRuns: true });
    const moved = to === "allowDenyEntry" ? deny : { entries: { [VALUE]: "deny" } };
    await before.up(from === "allowDenyEntry" ? allow : { entries: { [VALUE]: ALLOW } });
    await tenant.provider.startNextRun();
    const rejection = await after.up(moved);
    expect(rejection.failures[""] + rejection.reasons.join()).toContain("refresh the stack first");
    await tenant.provider.startNextRun();
    await before.refresh();
    expect(await after.up(moved)).toMatchObject({ outcome: "created" });
    await before.destroy();
    expect(tenant.service.listContents()).toEqual(["deny evil.example"]);
  });
});
