import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fleet, type FleetCliResult, type FleetOptions } from "../support/fleet";
import { buildConsoleEntry, buildTenant } from "../support/scenario-tenant";

/*
 * Keys of tenants that no rollout has read, where the tenants share a baseline and have no VIPs; wrong keys without
 * access to the journal; and journals that recorded the tenant of a wrong key.
 */

const GATED = "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest, maxConcurrent: 2 }\n";
const EXISTING_ENTRIES = ["evil0.example", "evil1.example"].map((value) => buildConsoleEntry("deny", value));
const STRANGER = buildTenant("stranger", [...EXISTING_ENTRIES, buildConsoleEntry("allow", "theirs.example")]);

/** Starts three tenants that only declare the baseline. Another tenant of the service isn't in any file. */
async function startFleet(options: Partial<FleetOptions> = {}): Promise<Fleet> {
  const fleet = await Fleet.start({ tenants: 3, entries: 2, others: [STRANGER], ...options });
  for (const name of fleet.names) await fleet.write(`settings/${name}.yaml`, "version: 1\ninclude: [baseline.yaml]\n");
  return fleet;
}

async function runWithKeys(
  fleet: Fleet,
  keys: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<FleetCliResult> {
  fleet.takeRequests();
  return await fleet.start(keys, ...args).result;
}

const unfoldLines = (text: string): string => text.replaceAll(/\n {2}(?=\S)/g, " ");

const takeWrites = (fleet: Fleet): string[] =>
  fleet.takeRequests().flatMap(({ method, path, tenant }) => (method === "GET" ? [] : [`${tenant} ${method} ${path}`]));

/** Returns the state of each tenant in `fleet status`. */
async function syncStatuses(fleet: Fleet, keys: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const { stdout, output } = await runWithKeys(fleet, keys, "fleet", "status", "--format", "json");
  expect(stdout, output).toMatch(/^\{/);
  const { tenants } = JSON.parse(stdout) as { tenants: { syncStatus: string }[] };
  return tenants.map(({ syncStatus }) => syncStatus);
}

const IN_SYNC = ["in-sync", "in-sync", "in-sync"];

describe("key of a tenant that no rollout read", () => {
  let fleet: Fleet;
  let wrong: { readonly T1_KEY: string };

  beforeAll(async () => {
    fleet = await startFleet({ waves: GATED });
    wrong = { T1_KEY: fleet.getServiceKey("stranger") };
  });
  afterAll(async () => await fleet?.[Symbol.asyncDispose]());

  it("is refused on resume when the planned tenant was empty", async () => {
    const planned = await fleet.runRollout("--yes");
    expect(planned.code, planned.output).toBe(2);
    const resumed = await runWithKeys(fleet, wrong, "rollout", "resume");
    expect(resumed.code, resumed.output).toBe(1);
    const { error } = resumed.report().tenants.find(({ name }) => name === "t1") ?? {};
    expect(error?.code, resumed.output).toBe("ERR_OTHER_TENANT");
    expect(error?.message).toMatch(
      /it was empty on 20\d\d-.* UTC, and now has 3 entries that were created before that/,
    );
    expect(takeWrites(fleet).filter((write) => write.startsWith("stranger"))).toEqual([]);
    expect(await fleet.runRollout("resume")).toMatchObject({ code: 0 });
    expect(await syncStatuses(fleet)).toEqual(IN_SYNC);
  });

  it("is refused by a plan", async () => {
    expect(await syncStatuses(fleet, wrong)).toEqual(["in-sync", "wrong-key", "in-sync"]);
    await fleet.writeBaseline(["evil0.example", "evil1.example", "planned.example"]);
    const planned = await runWithKeys(fleet, wrong, "rollout", "--yes");
    expect(planned.code, planned.output).toBe(3);
    expect(unfoldLines(planned.output)).toMatch(
      /"t1" \(tenants\.yaml:\d+; key from the environment variable T1_KEY\) belongs to a different tenant than in the rollout \S+: it has nothing in common with what was read on .* UTC, and now has 3 entries that were created before that/,
    );
    expect(planned.output).toContain("[ERR_OTHER_TENANT]");
    expect(takeWrites(fleet)).toEqual([]);
  });

  it("causes no write to its tenant in resume and rollback", async () => {
    const planned = await fleet.runRollout("--yes");
    expect(planned.code, planned.output).toBe(2);
    const resumed = await runWithKeys(fleet, wrong, "rollout", "resume");
    expect(resumed.code, resumed.output).toBe(1);
    expect(takeWrites(fleet).filter((write) => write.startsWith("stranger"))).toEqual([]);
    const own = await fleet.runRollout("resume");
    expect(own.code, own.output).toBe(0);
    const rolledBack = await runWithKeys(fleet, wrong, "rollout", "rollback", "--yes");
    expect(rolledBack.code, rolledBack.output).toBe(2);
    expect(rolledBack.report().skipped).toMatchObject([
      { name: "t1", reason: expect.stringContaining("its key belongs to another tenant of the service") },
    ]);
    expect(rolledBack.output).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=t1");
    const written = new Set(takeWrites(fleet).map((write) => write.split(" ")[0]));
    expect([...written].sort()).toEqual(["t0", "t2"]);
    expect(fleet.listContents("stranger")).toHaveLength(3);
  });

  it("is accepted with the variable that the message prints", async () => {
    // A value that the previous case rolled back can't be planned again.
    await fleet.writeBaseline(["evil0.example", "evil1.example", "accepted.example"]);
    const rejection = await runWithKeys(fleet, wrong, "rollout", "--yes");
    const [, variable = "", value = ""] = /(EMAIL_SECURITY_ACCEPT_EMPTY_TENANT)=([\w,]+)/.exec(rejection.output) ?? [];
    expect(value, rejection.output).toBe("t1");
    const accepted = await runWithKeys(fleet, { ...wrong, [variable]: value }, "rollout", "--yes", "--only", "t1");
    expect([0, 2], accepted.output).toContain(accepted.code);
    await runWithKeys(fleet, wrong, "rollout", "resume");
    expect((await syncStatuses(fleet, wrong))[1]).toBe("drifted");
  });
});

it("refuses an empty tenant instead of the planned one on resume and rollback", async () => {
  await using fleet = await startFleet({ waves: GATED, others: [STRANGER, buildTenant("blank", [])] });
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(2);
  expect(await fleet.runRollout("resume")).toMatchObject({ code: 0 });
  // The plan leaves nothing that identifies a tenant.
  await fleet.writeBaseline(["new0.example", "new1.example"]);
  const planned = await fleet.runRollout("--yes");
  expect(planned.code, planned.output).toBe(2);
  const blank = { T1_KEY: fleet.getServiceKey("blank") };
  for (const attempt of [1, 2]) {
    const resumed = await runWithKeys(fleet, blank, "rollout", "resume");
    expect(resumed.code, resumed.output).toBe(1);
    const { error } = resumed.report().tenants.find(({ name }) => name === "t1") ?? {};
    expect(error?.code, `attempt ${attempt}: ${resumed.output}`).toBe("ERR_OTHER_TENANT");
  }
  const rolledBack = await runWithKeys(fleet, blank, "rollout", "rollback", "--yes");
  expect(rolledBack.report().skipped, rolledBack.output).toMatchObject([
    { name: "t1", reason: expect.stringContaining("its key belongs to another tenant of the service") },
  ]);
  expect(fleet.listContents("blank")).toEqual([]);
  expect(fleet.listContents("t1")).toEqual(["deny evil0.example", "deny evil1.example"]);
});

it("requires acceptance of a right key after all entries were replaced", async () => {
  await using fleet = await startFleet();
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  for (const { id } of fleet.sandbox.allowDenyEntries("t1"))
    await fleet.sendFromConsole("t1", "DELETE", `/allow_deny_entries/${id}`);
  for (const value of ["evil0.example", "other.example"])
    await fleet.sendFromConsole("t1", "POST", "/allow_deny_entries", { list: "deny", entry_type: "domain", value });
  expect(await syncStatuses(fleet)).toEqual(["in-sync", "wrong-key", "in-sync"]);
  const rejection = await fleet.runRollout("--yes");
  expect(rejection.code, rejection.output).toBe(3);
  const [, value = ""] = /EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=([\w,]+)/.exec(rejection.output) ?? [];
  expect(value, rejection.output).toBe("t1");
  const accepted = await runWithKeys(fleet, { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: value }, "rollout", "--yes");
  expect(accepted.code, accepted.output).toBe(0);
  expect(fleet.listContents("t1")).toEqual(["deny evil0.example", "deny evil1.example", "deny other.example"]);
  expect((await syncStatuses(fleet))[1]).not.toBe("wrong-key");
});

describe("missing journal", () => {
  let fleet: Fleet;
  let swapped: Readonly<Record<string, string>>;
  const removeJournal = async (): Promise<void> =>
    await rm(join(fleet.directory, ".email-security"), { recursive: true, force: true });

  beforeAll(async () => {
    fleet = await startFleet();
    swapped = { T1_KEY: fleet.getServiceKey("t2"), T2_KEY: fleet.getServiceKey("t1") };
    await fleet.writeTargets({ formatTenantOptions: (name) => (name === "t2" ? "{ provider: native }" : "{}") });
    const done = await fleet.runRollout("--yes");
    expect(done.code, done.output).toBe(0);
  });
  afterAll(async () => await fleet?.[Symbol.asyncDispose]());

  it("reports swapped keys in status", async () => {
    await removeJournal();
    expect(await syncStatuses(fleet, swapped)).toEqual(["in-sync", "wrong-key", "wrong-key"]);
    expect(await syncStatuses(fleet, { T1_KEY: fleet.getServiceKey("stranger") })).toEqual([
      "in-sync",
      "wrong-key",
      "in-sync",
    ]);
    expect(await syncStatuses(fleet)).toEqual(IN_SYNC);
    const findResult = await runWithKeys(fleet, swapped, "find", "evil0.example", "--all");
    expect(findResult.code, findResult.output).toBe(1);
  });

  it("writes nothing in a rollout with swapped keys", async () => {
    await removeJournal();
    await fleet.writeBaseline(["evil0.example", "evil1.example", "more.example"]);
    const wrong = await runWithKeys(fleet, swapped, "rollout", "--yes");
    expect(wrong.code, wrong.output).toBe(3);
    expect(wrong.output).toContain("[ERR_OTHER_TENANT]");
    expect(takeWrites(fleet)).toEqual([]);
    await removeJournal();
    const right = await fleet.runRollout("--yes");
    expect(right.code, right.output).toBe(0);
    for (const name of fleet.names) expect(fleet.listContents(name)).toContain("deny more.example");
  });

  it("keeps an accepted tenant in the stack's state", async () => {
    const moved = { T1_KEY: fleet.getServiceKey("stranger") };
    await removeJournal();
    for (const value of ["more.example"])
      await fleet.sendFromConsole("stranger", "POST", "/allow_deny_entries", {
        list: "deny",
        entry_type: "domain",
        value,
      });
    const rejection = await runWithKeys(fleet, moved, "rollout", "--yes");
    expect(rejection.code, rejection.output).toBe(3);
    const accepting = { ...moved, EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "t1" };
    const accepted = await runWithKeys(fleet, accepting, "rollout", "--yes");
    expect(accepted.code, accepted.output).toBe(0);
    expect(takeWrites(fleet)).toEqual([]);
    await removeJournal();
    expect((await syncStatuses(fleet, moved))[1]).toBe("drifted");
  });
});

it("prefers the newer reading of a rollout with another journal", async () => {
  await using fleet = await startFleet();
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  const moved = { T1_KEY: fleet.getServiceKey("stranger") };
  const accepting = { ...moved, EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "t1" };
  const accepted = await runWithKeys(fleet, accepting, "rollout", "--yes", "--database", "other.db");
  expect(accepted.code, accepted.output).toBe(0);
  expect(takeWrites(fleet)).toEqual([]);
  expect(await syncStatuses(fleet, moved)).toEqual(["in-sync", "drifted", "in-sync"]);
  expect(await syncStatuses(fleet)).toEqual(["in-sync", "wrong-key", "in-sync"]);
  const former = await fleet.runRollout("--yes");
  expect(former.code, former.output).toBe(3);
  const current = await runWithKeys(fleet, moved, "rollout", "--yes");
  expect(current.code, current.output).toBe(0);
});

it("recovers from keys swapped in the first rollout as advised", async () => {
  await using fleet = await startFleet();
  const swapped = { T1_KEY: fleet.getServiceKey("t2"), T2_KEY: fleet.getServiceKey("t1") };
  const first = await runWithKeys(fleet, swapped, "rollout", "--yes");
  expect(first.code, first.output).toBe(0);
  expect(await syncStatuses(fleet)).toEqual(["in-sync", "wrong-key", "wrong-key"]);
  const rejection = await fleet.runRollout("--yes");
  expect(rejection.code, rejection.output).toBe(3);
  const [, value = ""] = /EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=([\w,]+)/.exec(rejection.output) ?? [];
  expect(value.split(",").sort(), rejection.output).toEqual(["t1", "t2"]);
  const accepted = await runWithKeys(fleet, { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: value }, "rollout", "--yes");
  expect(accepted.code, accepted.output).toBe(0);
  expect(await syncStatuses(fleet)).toEqual(IN_SYNC);
  expect(await syncStatuses(fleet, swapped)).toEqual(["in-sync", "wrong-key", "wrong-key"]);
});

it("recognizes the right tenant after a rollout to a wrong one", async () => {
  const blank = buildTenant("blank", []);
  await using fleet = await startFleet({ others: [blank], scenario: () => ({ entries: EXISTING_ENTRIES }) });
  await fleet.writeBaseline(["evil0.example", "evil1.example", "more.example"]);
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  // An empty tenant can't be distinguished from one that was emptied.
  const mistaken = await runWithKeys(fleet, { T1_KEY: fleet.getServiceKey("blank") }, "rollout", "--yes");
  expect(mistaken.code, mistaken.output).toBe(0);
  expect(await syncStatuses(fleet)).toEqual(IN_SYNC);
  const right = await fleet.runRollout("--yes");
  expect(right.code, right.output).toBe(0);
  expect(await syncStatuses(fleet)).toEqual(IN_SYNC);
});
