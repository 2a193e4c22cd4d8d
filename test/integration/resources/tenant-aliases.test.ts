import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { createEngineAddress, ProviderProcess } from "../../support/provider-process";
import { buildConsoleEntry, buildTenant } from "../../support/scenario-tenant";

/*
 * Two provider processes of one run reach the same tenant, by two keys or two host names. By the state, the resource
 * that one process must delete belongs to the other.
 */

const EXISTING_ENTRIES = [buildConsoleEntry("deny", "evil.example"), buildConsoleEntry("allow", "partner.example")];
const VIP = "noor.haddad@acme.example";

let sandbox: Sandbox;
/** The engine addresses of a run and of the next one. */
let first: string;
let next: string;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme" });
});
afterAll(async () => {
  await sandbox.close();
});
beforeEach(() => {
  first = createEngineAddress();
  next = createEngineAddress();
});

async function startProcess(
  engine: string,
  key: string,
  baseUrl: string = sandbox.url,
  instance?: string,
): Promise<ProviderProcess> {
  return await ProviderProcess.start({
    engine,
    config: { "email-security:baseUrl": baseUrl, "email-security:apiKey": key },
    ...(instance === undefined ? {} : { instance }),
  });
}

/** Returns the deletions and exclusions that were sent. */
function listRemovals(): string[] {
  return sandbox.requests
    .filter(({ method, path }) => method === "DELETE" || path.endsWith("/remove"))
    .map(({ method, path }) => `${method} ${path}`);
}

it("keeps what another Provider of the same tenant manages", async () => {
  await using p = await startProcess(first, "sandbox-acme-ci", sandbox.url, "p");
  await using q = await startProcess(first, "sandbox-acme-console", sandbox.url, "q");
  const evil = { list: "deny", value: "twice.example", comment: "INC-1" };
  const entry = await p.getResource("allowDenyEntry", "old").declare(evil);
  const vip = await p.getResource("vipEmployee", "old").declare({ email: VIP });
  const entryOfQ = await q.getResource("allowDenyEntry", "new").declare(evil);
  const vipsOfQ = await q.getResource("vipList", "new").declare({ members: { [VIP]: "" } });

  // The next run: one process has no changes, and the other drops its own resources.
  await using removedProcess = await startProcess(next, "sandbox-acme-ci", sandbox.url, "p");
  await using stays = await startProcess(next, "sandbox-acme-console", sandbox.url, "q");
  sandbox.clearRequests();
  for (const [kind, createdEntry, args] of [
    ["allowDenyEntry", entryOfQ, evil],
    ["vipList", vipsOfQ, { members: { [VIP]: "" } }],
  ] as const) {
    const { inputs } = await stays.getResource(kind, "new").check(args, createdEntry.inputs);
    expect(await stays.getResource(kind, "new").diff(createdEntry.id, createdEntry.properties, inputs)).toMatchObject({
      changes: false,
    });
  }
  await removedProcess.getResource("allowDenyEntry", "old").delete(entry.id, entry.properties, entry.inputs);
  await removedProcess.getResource("vipEmployee", "old").delete(vip.id, vip.properties, vip.inputs);
  expect(listRemovals()).toEqual([]);
  expect(sandbox.allowDenyEntries("acme").map(({ value }) => value)).toContain("twice.example");
});

it.each([
  ["nothing else", false],
  ["another entry", true],
])("keeps the entry of another Provider's unchanged list when it declares %s", async (_label, hasMore) => {
  await using p = await startProcess(first, "sandbox-acme-ci", sandbox.url, "p");
  await using q = await startProcess(first, "sandbox-acme-console", sandbox.url, "q");
  const value = `shared-${hasMore}.example`;
  const entries = { [value]: "deny" };
  const more = { list: "deny", value: "more.example" };
  const old = await p.getResource("allowDenyEntry", "old").declare({ list: "deny", value });
  const moreOfP = await p.getResource("allowDenyEntry", "more").declare(more);
  const list = await q.getResource("allowDenyList", "list").declare({ entries });

  await using removedProcess = await startProcess(next, "sandbox-acme-ci", sandbox.url, "p");
  await using stays = await startProcess(next, "sandbox-acme-console", sandbox.url, "q");
  const { inputs } = await stays.getResource("allowDenyList", "list").check({ entries }, list.inputs);
  expect(await stays.getResource("allowDenyList", "list").diff(list.id, list.properties, inputs)).toMatchObject({
    changes: false,
  });
  if (hasMore) await removedProcess.getResource("allowDenyEntry", "more").check(more, moreOfP.inputs);
  sandbox.clearRequests();
  await removedProcess.getResource("allowDenyEntry", "old").delete(old.id, old.properties, old.inputs);
  expect(listRemovals()).toEqual([]);
  expect((await removedProcess.readPrintedLines()).join("\n")).toContain(
    `${value} on the deny list is kept: the program declares it`,
  );
});

it("deletes an entry whose value another tenant's Provider declares", async () => {
  const scenario = { name: "two", tenants: ["one", "two"].map((name) => buildTenant(name, EXISTING_ENTRIES)) };
  await using service = await startSandbox({ scenario });
  const deny = { list: "deny", value: "common.example" };
  await using p = await startProcess(first, "sandbox-one-ci", service.url, "p");
  await using q = await startProcess(first, "sandbox-two-ci", service.url, "q");
  const old = await p.getResource("allowDenyEntry", "entry").declare(deny);
  const other = await q.getResource("allowDenyEntry", "entry").declare(deny);

  await using removedProcess = await startProcess(next, "sandbox-one-ci", service.url, "p");
  await using stays = await startProcess(next, "sandbox-two-ci", service.url, "q");
  await stays.getResource("allowDenyEntry", "entry").check(deny, other.inputs);
  await removedProcess.getResource("allowDenyEntry", "entry").delete(old.id, old.properties, old.inputs);
  expect(service.allowDenyEntries("one").map(({ value }) => value)).not.toContain("common.example");
  expect(service.allowDenyEntries("two").map(({ value }) => value)).toContain("common.example");
});

it("keeps a list's entries reached by another host name", async () => {
  const entries = { "list-one.example": "deny", "list-two.example": "deny: INC-2" };
  const otherName = sandbox.url.replace("127.0.0.1", "localhost");
  await using provider = await startProcess(first, "sandbox-acme-ci", sandbox.url, "one");
  await using two = await startProcess(first, "sandbox-acme-ci", otherName, "two");
  const old = await provider.getResource("allowDenyList", "list").declare({ entries });
  // An earlier run declared it there, so it is only checked and diffed.
  const { inputs } = await two.getResource("allowDenyList", "list").check({ entries });
  const properties = { ...old.properties, tenant: `two at ${new URL(otherName).host}` };
  await two.getResource("allowDenyList", "list").diff(old.id, properties, inputs);
  sandbox.clearRequests();
  await provider.getResource("allowDenyList", "list").delete(old.id, old.properties, old.inputs);
  expect(listRemovals()).toEqual([]);
});

it("deletes nothing when the run reaches another tenant", async () => {
  await using here = await startProcess(first, "sandbox-acme-ci");
  const args = { list: "deny", value: "elsewhere.example" };
  const { id, properties, inputs } = await here.getResource("allowDenyEntry").declare(args);
  const vip = await here.getResource("vipEmployee").declare({ email: "lena.hartmann@acme.example" });
  await using other = await startSandbox({ scenario: "acme" });
  await using there = await startProcess(next, "sandbox-acme-ci", other.url);
  const removedResource = there.getResource("allowDenyEntry");
  await expect(removedResource.delete(id, properties, inputs)).rejects.toThrow(
    /elsewhere\.example belongs to 127\.0\.0\.1:\d+, but this run uses 127\.0\.0\.1:\d+, so nothing was deleted.*\[ERR_OTHER_TENANT\]/s,
  );
  await expect(there.getResource("vipEmployee").delete(vip.id, vip.properties, vip.inputs)).rejects.toThrow(
    /ERR_OTHER_TENANT/,
  );
  // The entry that this run declares is created here; the old one at the other host is only dropped from state.
  await removedResource.declare(args);
  await removedResource.delete(id, properties, inputs);
  expect((await there.readPrintedLines()).join("\n")).toMatch(
    /elsewhere\.example belongs to .*: nothing was deleted there\. If that is another tenant, and the deletion is intended, delete it there/,
  );
  expect(other.requests.filter(({ method, path }) => method === "DELETE" || path.endsWith("/remove"))).toEqual([]);
});

/** Returns the writes that were sent. */
function listWriteMethods(): readonly string[] {
  return sandbox.requests.filter(({ method }) => method !== "GET").map(({ method }) => method);
}

it.each([
  {
    label: "both declare a whole list",
    first: ["allowDenyList", { entries: { "one.example": "deny" }, mode: "exclusive" }],
    second: ["allowDenyList", { entries: { "two.example": "deny" }, mode: "exclusive" }],
    message: /Both declare a whole AllowDenyList/,
  },
  {
    label: "both declare an additive list",
    first: ["vipList", { members: { "noor.haddad@acme.example": "" } }],
    second: ["vipList", { members: { "lena.hartmann@acme.example": "" } }],
    message: /Both declare a whole VipList/,
  },
  {
    label: "they contradict each other",
    first: ["allowDenyEntry", { list: "deny", value: "contrary.example" }],
    second: ["allowDenyEntry", { list: "allow", value: "contrary.example" }],
    message: /They declare .*contrary\.example.* differently/,
  },
  {
    label: "they contradict each other in two scopes",
    first: ["allowDenyEntry", { list: "deny", value: "scopes.example" }],
    second: ["allowDenyList", { entries: { "scopes.example (graymail)": "allow" } }],
    message: /"allow scopes\.example.*" here contradicts "deny scopes\.example" of the other/,
  },
  {
    label: "an exclusive list would remove an entry",
    first: ["allowDenyEntry", { list: "deny", value: "beside.example" }],
    second: ["allowDenyList", { entries: { "own.example": "deny" }, mode: "exclusive" }],
    message: /exclusive AllowDenyList .* would remove/,
  },
  {
    label: "the second, an exclusive-allows list, would remove an allow",
    first: ["allowDenyEntry", { list: "allow", value: "allowed.example" }],
    second: ["allowDenyList", { entries: { "own.example": "deny" }, mode: "exclusive-allows" }],
    message: /exclusive-allows AllowDenyList here would remove 1 entry/,
  },
  {
    label: "the first, an exclusive-allows list, would remove an allow",
    first: ["allowDenyList", { entries: { "other.example": "deny" }, mode: "exclusive-allows" }],
    second: ["allowDenyEntry", { list: "allow", value: "allowed.example" }],
    message: /exclusive-allows AllowDenyList of the other would remove/,
  },
] as const)("rejects two Providers of one tenant where $label, before the second writes", async (conflict) => {
  await using p = await startProcess(first, "sandbox-acme-ci", sandbox.url, "p");
  await using q = await startProcess(first, "sandbox-acme-console", sandbox.url, "q");
  const [kind, args] = conflict.first;
  const [otherKind, otherArgs] = conflict.second;
  await p.getResource(kind, "one").declare(args);
  sandbox.clearRequests();
  const second = q.getResource(otherKind, "two").declare(otherArgs);
  await expect(second).rejects.toThrow(conflict.message);
  await expect(second).rejects.toThrow(/the Provider "q" and the Provider "p".*\[ERR_SAME_TENANT\]/s);
  expect(listWriteMethods()).toEqual([]);
});

it("accepts an exclusive-allows list next to another Provider's deny", async () => {
  await using p = await startProcess(first, "sandbox-acme-ci", sandbox.url, "p");
  await using q = await startProcess(first, "sandbox-acme-console", sandbox.url, "q");
  await p.getResource("allowDenyEntry", "one").declare({ list: "deny", value: "denied-beside.example" });
  const list = { entries: { "own-beside.example": "deny" }, mode: "exclusive-allows" };
  await q.getResource("allowDenyList", "two").declare(list);
  expect(sandbox.allowDenyEntries("acme").map(({ value }) => value)).toEqual(
    expect.arrayContaining(["denied-beside.example", "own-beside.example"]),
  );
});

it("rejects both Providers that write to one tenant at once", async () => {
  await using p = await startProcess(first, "sandbox-acme-ci", sandbox.url, "p");
  await using q = await startProcess(first, "sandbox-acme-console", sandbox.url, "q");
  const buildExclusiveList = (value: string) => ({ entries: { [value]: "deny" }, mode: "exclusive" });
  sandbox.clearRequests();
  const [one, two] = [p.getResource("allowDenyList", "one"), q.getResource("allowDenyList", "two")];
  const checked = [
    await one.check(buildExclusiveList("at-once-p.example")),
    await two.check(buildExclusiveList("at-once-q.example")),
  ];
  const results = await Promise.allSettled([
    one.create(checked[0]?.inputs ?? {}),
    two.create(checked[1]?.inputs ?? {}),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(listWriteMethods()).toEqual([]);
});

it.each([
  ["the same address", "127.0.0.1"],
  ["another name of the address", "localhost"],
])("rejects the first Provider's first write when a second declares a conflict at %s", async (_label, host) => {
  await using p = await startProcess(first, "sandbox-acme-ci", sandbox.url, "p");
  await using q = await startProcess(first, "sandbox-acme-console", sandbox.url.replace("127.0.0.1", host), "q");
  const buildExclusiveList = (value: string) => ({ entries: { [value]: "deny" }, mode: "exclusive" });
  sandbox.clearRequests();
  const resource = p.getResource("allowDenyList", "one");
  const { inputs } = await resource.check(buildExclusiveList("first.example"));
  await q.getResource("allowDenyList", "two").check(buildExclusiveList("second.example"));
  await expect(resource.create(inputs)).rejects.toThrow(/Both declare a whole AllowDenyList.*\[ERR_SAME_TENANT\]/s);
  expect(listWriteMethods()).toEqual([]);
});

it("rejects a second Provider of a tenant whose first is unchanged", async () => {
  const mine = { entries: { "unchanged.example": "deny" }, mode: "exclusive" };
  await using p = await startProcess(first, "sandbox-acme-ci", sandbox.url, "p");
  const createdResource = await p.getResource("allowDenyList", "one").declare(mine);

  await using same = await startProcess(next, "sandbox-acme-ci", sandbox.url, "p");
  await using q = await startProcess(next, "sandbox-acme-console", sandbox.url, "q");
  const unchanged = same.getResource("allowDenyList", "one");
  const { inputs } = await unchanged.check(mine, createdResource.inputs);
  expect(await unchanged.diff(createdResource.id, createdResource.properties, inputs)).toMatchObject({
    changes: false,
  });
  sandbox.clearRequests();
  const second = q.getResource("allowDenyList", "two").declare({ entries: {}, mode: "exclusive" });
  await expect(second).rejects.toThrow(/Both declare a whole AllowDenyList.*\[ERR_SAME_TENANT\]/s);
  expect(listWriteMethods()).toEqual([]);
});

it("accepts exclusive lists of two tenants at one address", async () => {
  const scenario = { name: "two", tenants: ["one", "two"].map((name) => buildTenant(name, EXISTING_ENTRIES)) };
  await using service = await startSandbox({ scenario });
  await using p = await startProcess(first, "sandbox-one-ci", service.url, "p");
  await using q = await startProcess(first, "sandbox-two-ci", service.url, "q");
  const list = { entries: { "both.example": "deny" }, mode: "exclusive" };
  await p.getResource("allowDenyList", "one").declare(list);
  await q.getResource("allowDenyList", "two").declare(list);
  for (const name of ["one", "two"]) {
    expect(service.allowDenyEntries(name).map(({ value }) => value)).toContain("both.example");
  }
});
