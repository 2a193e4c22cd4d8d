import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { Fleet, getKeyVariable } from "../support/fleet";
import { runInEmptyDirectory } from "../support/stack-locks";
import { buildExecutive } from "../support/two-tenants";

/* Names whose meaning an edit changes: a tenant name that now belongs to another tenant, and the project's name. */

const CLONES = [
  { label: "in the same clone", forgets: [] },
  { label: "in a clone without the journal", forgets: [".email-security"] },
];

/** Starts a fleet in which a rollout has added an allow to the first tenant. The files no longer declare it. */
async function createPartnerFleet(): Promise<{ readonly fleet: Fleet; readonly settings: string }> {
  const fleet = await Fleet.start({ tenants: 2, entries: 2 });
  const settings = await fleet.read("settings/t0.yaml");
  await fleet.write("settings/t0.yaml", `${settings}allow:\n  - partner.example\n`);
  const first = await fleet.runRollout("--yes", "--only", "t0");
  expect(first.code, first.output).toBe(0);
  expect(fleet.listContents("t0")).toContain("allow partner.example");
  await fleet.write("settings/t0.yaml", settings);
  return { fleet, settings };
}

const takeWriteRequests = (fleet: Fleet) => fleet.takeRequests().filter(({ method }) => method !== "GET");

it("refuses swapped keys of tenants that share a mail domain", async () => {
  await using fleet = await Fleet.start({
    tenants: 2,
    entries: 2,
    scenario: (name) => ({ employees: [buildExecutive("group.example", name)] }),
  });
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  fleet.takeRequests();
  const [a, b] = ["t0", "t1"].map((name) => fleet.environment[getKeyVariable(name)]);
  const swapped = await fleet.start({ T0_KEY: b, T1_KEY: a }, "rollout", "--yes").result;
  expect([swapped.code, swapped.output]).toEqual([3, expect.stringContaining("ERR_OTHER_TENANT")]);
  expect(swapped.output).toMatch(
    /"t0" \(tenants\.yaml:\d+; key from the environment variable T0_KEY\) belongs to the tenant of "t1" \(tenants\.yaml:\d+; read by the rollout/,
  );
  expect(takeWriteRequests(fleet)).toEqual([]);
  const own = await fleet.runRollout("--yes");
  expect(own.code, own.output).toBe(0);
});

/**
 * Deletes some files of the clone, and asserts that a rollout is refused without a write. Returns its output as one
 * line.
 */
async function expectRefusedRollout(fleet: Fleet, forgets: readonly string[]): Promise<string> {
  for (const path of forgets) await rm(join(fleet.directory, path), { recursive: true });
  fleet.takeRequests();
  const rejection = await fleet.runRollout("--yes");
  expect(rejection.code, rejection.output).toBe(3);
  expect(takeWriteRequests(fleet)).toEqual([]);
  return rejection.output.replaceAll(/\s+/g, " ");
}

describe.each(CLONES)("rollout $label", ({ forgets }) => {
  it("shows the removals of a tenant whose name another tenant took", async () => {
    const { fleet } = await createPartnerFleet();
    await using _ = fleet;
    const formatTargets = (a: string, b: string): string => `version: 1
project: fleet
defaults: { baseUrl: "${fleet.sandbox.url}" }
tenants:
  acme: { key: { environment: T0_KEY }, settings: settings/t0.yaml${a} }
  t0: { key: { environment: T1_KEY }, settings: settings/t1.yaml${b} }
`;
    await fleet.write("tenants.yaml", formatTargets("", ""));
    const output = await expectRefusedRollout(fleet, forgets);
    expect(output).toMatch(
      /acme \[renamed-tenant\].*of the stack "t0", which now belongs to "t0" in the targets file.*declared allow partner\.example/,
    );
    // As it says.
    await fleet.write("tenants.yaml", formatTargets(", stack: t0", ", stack: new"));
    const done = await fleet.runRollout("--yes");
    expect(done.code, done.output).toBe(0);
    for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
  });

  it("shows the removals of tenants after a project rename", async () => {
    const { fleet } = await createPartnerFleet();
    await using _ = fleet;
    const targets = await fleet.read("tenants.yaml");
    await fleet.write("tenants.yaml", targets.replace("project: fleet", "project: mail"));
    const output = await expectRefusedRollout(fleet, forgets);
    expect(output).toMatch(
      /t0 \[renamed-tenant\].*of the stack "t0" of the project "fleet".*declared allow partner\.example/,
    );
    const [, rename = "nothing is printed"] = /`(\(cd [^`]+ stack rename [^`]+)`/.exec(output) ?? [];
    await runInEmptyDirectory(fleet, rename);
    const done = await fleet.runRollout("--yes");
    expect(done.code, done.output).toBe(0);
    for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
  });
});

/**
 * Renames the project, and moves a tenant's stack there. `t0` and `t1` have a stack, and what a rollout changes in
 * all tenants stops at the gate before `t1`.
 */
async function createMovedProjectFleet(): Promise<{ readonly fleet: Fleet; readonly id: string }> {
  const waves = "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest }\n";
  const fleet = await Fleet.start({ tenants: 3, entries: 2, waves });
  const first = await fleet.runRollout("--yes", "--only", "t0,t1");
  expect(first.code, first.output).toBe(2);
  const done = await fleet.runRollout("resume", first.report().id);
  expect(done.code, done.output).toBe(0);
  await fleet.writeBaseline(["evil9.example"]);
  const { id } = (await fleet.runRollout("--yes", "--only", "t0,t1")).report();
  return { fleet, id };
}

async function renameProject(fleet: Fleet): Promise<void> {
  const targets = await fleet.read("tenants.yaml");
  await fleet.write("tenants.yaml", targets.replace("project: fleet", "project: mail"));
  for (const stack of ["t0", "t1"]) {
    await runInEmptyDirectory(
      fleet,
      `pulumi stack rename organization/mail/${stack} --stack organization/fleet/${stack}`,
    );
  }
  fleet.takeRequests();
}

describe("project renamed with its stacks", () => {
  it("blocks the plan of a tenant that rollouts of the former project skip", async () => {
    const { fleet, id } = await createMovedProjectFleet();
    await using _ = fleet;
    for (const args of [
      ["abandon", id],
      ["skip", "t1", "t2", "--reason", "OPS-412"],
    ]) {
      const { code, output } = await fleet.runRollout(...args);
      expect(code, output).toBe(0);
    }
    await renameProject(fleet);
    const output = await expectRefusedRollout(fleet, []);
    expect(output).toMatch(/t1 \[moved-stack\].*moved here from the project "fleet".*skip its tenant: "t1".*OPS-412/);
    expect(output).toMatch(/t2 \[renamed-tenant\].*the project "fleet", which has no stacks.*OPS-412/);
    // As it says.
    for (const args of [
      ["unskip", "t1"],
      ["unskip", "t2"],
      ["skip", "t1", "--reason", "OPS-412"],
    ]) {
      const { code, output } = await fleet.runRollout(...args);
      expect(code, output).toBe(0);
    }
    const done = await fleet.runRollout("--yes");
    expect(done.code, done.output).toBe(0);
    expect(fleet.listContents("t1")).not.toContain("deny evil9.example");
    for (const name of ["t0", "t2"])
      expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name, ["evil9.example"]));
  });

  it("neither resumes, rolls back nor overtakes a rollout of the former project", async () => {
    const { fleet, id } = await createMovedProjectFleet();
    await using _ = fleet;
    await renameProject(fleet);
    expect(await expectRefusedRollout(fleet, [])).toMatch(
      new RegExp(`t1 \\[moved-stack\\].*The unfinished rollout ${id} of that project has yet to change its tenant`),
    );
    for (const args of [
      ["resume", id],
      ["rollback", id, "--yes"],
    ]) {
      const rejection = await fleet.runRollout(...args);
      expect(rejection.code, rejection.output).not.toBe(0);
      expect(rejection.output.replaceAll(/\s+/g, " ")).toContain(
        `The rollout ${id} has the project "fleet", but tenants.yaml has the project "mail".`,
      );
    }
    expect(takeWriteRequests(fleet)).toEqual([]);
    const abandoned = await fleet.runRollout("abandon", id);
    expect(abandoned.code, abandoned.output).toBe(0);
    const { code, output } = await fleet.runRollout("--yes");
    expect(code, output).toBe(0);
    for (const name of fleet.names)
      expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name, ["evil9.example"]));
  });

  it("does not repeat what a rollback of the former project undid", async () => {
    const { fleet, id } = await createMovedProjectFleet();
    await using _ = fleet;
    const rolledBack = await fleet.runRollout("rollback", id, "--yes");
    expect(rolledBack.code, rolledBack.output).toBe(0);
    await renameProject(fleet);
    const rejection = await fleet.runRollout("--yes");
    expect([rejection.code, rejection.output]).toEqual([3, expect.stringContaining("ERR_ROLLED_BACK")]);
    expect(takeWriteRequests(fleet)).toEqual([]);
  });
});

it("recognizes a tenant that was renamed together with the project", async () => {
  const { fleet } = await createPartnerFleet();
  await using _ = fleet;
  const rest = await fleet.runRollout("--yes", "--only", "t1");
  expect(rest.code, rest.output).toBe(0);
  const targets = await fleet.read("tenants.yaml");
  const renamed = targets.replace("  t0: {}", "  zed: { key: { environment: T0_KEY }, settings: settings/t0.yaml }");
  await fleet.write("tenants.yaml", renamed.replace("project: fleet", "project: mail"));
  const output = await expectRefusedRollout(fleet, []);
  expect(output).toMatch(
    /zed \[renamed-tenant\].*of the stack "t0" of the project "fleet".*declared allow partner\.example/,
  );
  // As it says.
  const [move = "nothing is printed"] = /\(cd [^`]+ stack rename organization\/mail\/zed [^`]+/.exec(output) ?? [];
  await runInEmptyDirectory(fleet, move);
  const done = await fleet.runRollout("--yes");
  expect(done.code, done.output).toBe(0);
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0"));
});

it("shows the removals of a tenant that gets a stack made without a rollout", async () => {
  const { fleet, settings } = await createPartnerFleet();
  await using _ = fleet;
  await fleet.write("settings/hand.yaml", settings);
  fleet.environment[getKeyVariable("hand")] = fleet.environment[getKeyVariable("t0")];
  for (const args of [
    ["stack", "select", "--create"],
    ["up", "--yes", "--skip-preview"],
  ]) {
    const { code, output } = await fleet.startPulumi("hand", ...args).ended;
    expect(code, output).toBe(0);
  }
  await fleet.writeTargets({ formatTenantOptions: (name) => (name === "t0" ? "{ stack: hand }" : "{}") });
  expect(await expectRefusedRollout(fleet, [])).toMatch(
    /t0 \[renamed-tenant\].*another stack, which no rollout has used.*of the stack "t0".*declared allow partner\.example/,
  );
  // As it says.
  await fleet.writeTargets({ formatTenantOptions: (name) => (name === "t0" ? "{ stack: t0 }" : "{}") });
  const done = await fleet.runRollout("--yes");
  expect(done.code, done.output).toBe(0);
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
});

it("prints a command that forgets a removed tenant's stack from anywhere", async () => {
  await using fleet = await Fleet.start({ tenants: 2, entries: 2 });
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  // The state backend is only in the project file, as a relative path.
  await fleet.write("Pulumi.yaml", "name: fleet\nruntime: nodejs\nbackend: { url: file://./.state }\n");
  const removed = await fleet.start({ PULUMI_BACKEND_URL: undefined }, "tenant", "remove", "t0").result;
  expect(removed.code, removed.output).toBe(0);
  const [, command = "nothing is printed"] = /`([^`]*stack rm [^`]+)`/.exec(removed.output) ?? [];
  const env = { ...fleet.environment, PULUMI_BACKEND_URL: undefined };
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { cwd: tmpdir(), env });
  expect(stdout).toContain("t0' has been removed!");
});

it("plans a new tenant despite another project's truncated state", async () => {
  const { fleet } = await createPartnerFleet();
  await using _ = fleet;
  await mkdir(join(fleet.directory, ".state/.pulumi/stacks/other"));
  await fleet.write(".state/.pulumi/stacks/other/acme.json", '{"version": 3, "check');
  const done = await fleet.runRollout("--yes");
  expect(done.code, done.output).toBe(0);
});
