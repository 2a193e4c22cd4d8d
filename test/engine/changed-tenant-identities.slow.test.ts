import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FleetStatus } from "../../provider/fleet/status/status-schema";
import { collapseSpaces } from "../support/collapse-spaces";
import { Fleet, formatTenantSettings, getKeyVariable, getStates, listStartedTenants } from "../support/fleet";

/*
 * A tenant name that now refers to another company's tenant, and a renamed tenant, through the real command and the
 * real engine. The tenants have no VIPs, and the same entries except one of their own, so only the identity that
 * rollouts recorded distinguishes them.
 */

let fleet: Fleet;
let id: string;

/**
 * A rollout adds an allow to the baseline of `t0`, and applies the baseline of `t1`. `t2` belongs to another company
 * and isn't in any file.
 */
beforeEach(async () => {
  fleet = await Fleet.start({ tenants: 3, entries: 2 });
  await fleet.write("tenants.yaml", formatTargets("t0: {}"));
  await fleet.write("settings/t0.yaml", formatTenantSettings("t0", "allow:\n  - partner.example\n"));
  await fleet.commitAll("All tenants");
  for (const [list, value] of [
    ["allow", "partner.example"],
    ["deny", "evil0.example"],
    ["deny", "evil1.example"],
  ]) {
    const body = { list, value, entry_type: "domain", verdict_scope: "global", comment: "" };
    await fleet.sendFromConsole("t2", "POST", "/allow_deny_entries", body);
  }
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  ({ id } = first.report());
  await fleet.write("settings/t0.yaml", formatTenantSettings("t0"));
  fleet.takeRequests();
});

afterEach(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

function formatTargets(first: string): string {
  return `version: 1
project: fleet
defaults: { baseUrl: "${fleet.sandbox.url}", key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }
tenants:
  ${first}
  t1: {}
waves:
  - { name: all, maxConcurrent: 2 }
`;
}

/** Returns the service's tenants that were written to since the last call. */
function takeWrittenTenants(): string[] {
  const written = fleet.takeRequests().filter(({ method }) => method !== "GET");
  return [...new Set(written.map(({ tenant }) => tenant ?? ""))].sort();
}

const OTHERS = ["allow partner.example", "deny evil0.example", "deny evil1.example"];

describe("tenant name reused for another company", () => {
  it("gets its own stack by `tenant add`", async () => {
    await fleet.write("settings/t0.yaml", formatTenantSettings("t0", "allow:\n  - partner.example\n"));
    const removed = await fleet.start({}, "tenant", "remove", "t0").result;
    expect(removed.code, removed.output).toBe(0);
    const added = await fleet.start({}, "tenant", "add", "t0", "--key-env", "T2_KEY").result;
    expect(added.code, added.output).toBe(0);
    expect(collapseSpaces(added.stdout)).toContain(
      `It gets the stack t0-2 instead of t0: the rollout ${id} read another tenant of the service there`,
    );
    expect(await fleet.read("tenants.yaml")).toContain("stack: t0-2");
    fleet.takeRequests();
    const first = await fleet.runRollout("--yes");
    expect(first.code, first.output).toBe(0);
    expect([fleet.listContents("t2"), takeWrittenTenants()]).toEqual([OTHERS, []]);

    const back = await fleet.runRollout("rollback", id, "--yes");
    expect([back.code, listStartedTenants(back)], back.output).toEqual([2, ["t1"]]);
    expect(back.report().skipped).toMatchObject([
      { name: "t0", reason: expect.stringContaining('its stack is now "t0-2"') },
    ]);
    expect([fleet.listContents("t1"), fleet.listContents("t2")]).toEqual([[], OTHERS]);
  });

  it("keeps its stack by `tenant add` for the same tenant", async () => {
    await fleet.write("settings/t0.yaml", formatTenantSettings("t0", "allow:\n  - partner.example\n"));
    expect(await fleet.start({}, "tenant", "remove", "t0").result).toMatchObject({ code: 0 });
    const added = await fleet.start({ T0_KEY: "sandbox-t0-console" }, "tenant", "add", "t0").result;
    expect(added.code, added.output).toBe(0);
    expect(added.stdout).toContain("Its stack t0 was kept");
  });

  it("is refused after a manual edit until it has its own stack", async () => {
    await fleet.write("tenants.yaml", formatTargets("t0: { key: { environment: T2_KEY } }"));
    const rejection = await fleet.runRollout("--yes");
    expect([rejection.code, takeWrittenTenants()], rejection.output).toEqual([3, []]);
    expect(collapseSpaces(rejection.output)).toMatch(
      /t0 \[other-tenant\].*another tenant of the service than the rollout .* read/,
    );
    expect(rejection.output).not.toContain("partner.example");
    await fleet.write("tenants.yaml", formatTargets("t0: { key: { environment: T2_KEY }, stack: globex }"));
    const own = await fleet.runRollout("--yes");
    expect(own.code, own.output).toBe(0);
    expect(fleet.listContents("t2")).toContain("allow partner.example");
  });

  it("is skipped by a rollback with exit code 2", async () => {
    await fleet.write("tenants.yaml", formatTargets("t0: { key: { environment: T2_KEY } }"));
    const plan = await fleet.runRollout("rollback", id);
    expect(collapseSpaces(plan.output)).toMatch(/t0, since .*: its key belongs to another tenant of the service/);
    const back = await fleet.runRollout("rollback", id, "--yes");
    expect([back.code, listStartedTenants(back), takeWrittenTenants()], back.output).toEqual([2, ["t1"], ["t1"]]);
    expect(fleet.listContents("t2")).toEqual(OTHERS);
    const only = await fleet.runRollout("rollback", id, "--only", "t0", "--yes");
    expect([only.code, takeWrittenTenants()], only.output).toEqual([1, []]);
    await fleet.write("tenants.yaml", formatTargets("t0: { key: { environment: NEW_KEY } }"));
    const keys = { NEW_KEY: "sandbox-t0-console", EMAIL_SECURITY_KEY_VARIABLES: "NEW_KEY,T1_KEY" };
    const rest = await fleet.start(keys, "rollout", "rollback", id, "--yes").result;
    expect([rest.code, listStartedTenants(rest), fleet.listContents("t0")], rest.output).toEqual([0, ["t0"], []]);
  });

  it("counts as another tenant once a person accepts it", async () => {
    const readAccepted = async (): Promise<unknown[]> => {
      const { stdout } = await fleet.start({}, "fleet", "status", "--format", "json").result;
      return (JSON.parse(stdout) as FleetStatus).tenants.map(({ name, acceptedSeq }) => [name, acceptedSeq]);
    };
    expect(await readAccepted()).toEqual([
      ["t0", undefined],
      ["t1", undefined],
    ]);
    await fleet.write("tenants.yaml", formatTargets("t0: { key: { environment: T2_KEY } }"));
    const run = await fleet.start({ EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "t0" }, "rollout", "--yes").result;
    expect(run.code, run.output).toBe(0);
    const accepted = [
      ["t0", 2],
      ["t1", undefined],
    ];
    expect(await readAccepted()).toEqual(accepted);
    await rm(join(fleet.directory, ".email-security"), { recursive: true });
    expect(await readAccepted()).toEqual(accepted);
  });

  it("is not written to when its key changes after planning", async () => {
    const waves = "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest }\n";
    const [file = ""] = formatTargets("t0: {}").split("waves:");
    await fleet.write("tenants.yaml", file.replace("  t0: {}\n  t1: {}\n", "  t1: {}\n  t0: {}\n") + waves);
    await fleet.writeBaseline(["evil0.example", "evil1.example", "more.example"]);
    expect(await fleet.runRollout("--yes")).toMatchObject({ code: 2 });
    fleet.takeRequests();
    const other = fleet.environment[getKeyVariable("t2")];
    const wrong = await fleet.start({ T0_KEY: other }, "rollout", "resume").result;
    expect([wrong.code, takeWrittenTenants()], wrong.output).toEqual([1, []]);
    expect(wrong.output).toContain("ERR_OTHER_TENANT");
    expect(fleet.listContents("t2")).toEqual(OTHERS);
    const own = await fleet.runRollout("resume");
    expect(own.code, own.output).toBe(0);
  });
});

describe("another company's tenant under a new name", () => {
  it.each([
    { label: "in the same clone", forgets: [] },
    { label: "in a clone without the journal", forgets: [".email-security"] },
  ])("isn't taken for the tenant that left the targets file, $label", async ({ forgets }) => {
    await fleet.write("tenants.yaml", formatTargets("t2: {}"));
    for (const path of forgets) await rm(join(fleet.directory, path), { recursive: true });
    const run = await fleet.start({}, "rollout", "--yes").result;
    expect(run.code, run.output).toBe(0);
    expect(fleet.listContents("t2")).toContain("allow partner.example");
  });
});

describe("renamed tenant", () => {
  it("is rolled back from a rollout under its former name", async () => {
    const renamed = await fleet.start({ ACME_KEY: fleet.environment["T0_KEY"] }, "tenant", "rename", "t0", "acme")
      .result;
    expect(renamed.code, renamed.output).toBe(0);
    const back = await fleet.runRollout("rollback", id, "--yes");
    expect([back.code, listStartedTenants(back)], back.output).toEqual([0, ["acme", "t1"]]);
    expect(getStates(back.report())).toEqual({ acme: "done", t1: "done" });
    expect(back.output).toMatch(/"t0" is now called "acme" \(tenants\.yaml:\d+\)/);
    expect([fleet.listContents("t0"), fleet.listContents("t1")]).toEqual([[], []]);
    expect((await fleet.report(id)).advice).toEqual([]);
  });

  it("frees its former name for a new tenant with its own stack", async () => {
    await fleet.start({}, "tenant", "rename", "t0", "acme").result;
    const added = await fleet.start({}, "tenant", "add", "t0", "--key-env", "T2_KEY", "--settings", "settings/new.yaml")
      .result;
    expect(added.code, added.output).toBe(0);
    expect(collapseSpaces(added.stdout)).toContain('It gets the stack t0-2 instead of t0: it is the stack of "acme".');
    fleet.takeRequests();
    const back = await fleet.runRollout("rollback", id, "--yes");
    expect([back.code, listStartedTenants(back), takeWrittenTenants()], back.output).toEqual([
      0,
      ["acme", "t1"],
      ["t0", "t1"],
    ]);
  });
});
