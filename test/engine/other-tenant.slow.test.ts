import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Sandbox } from "../../provider/sandbox";
import { commandLine } from "../support/command-line";
import { EngineProject } from "../support/engine-project";
import { Fleet } from "../support/fleet";
import { chiefOf, twoTenants } from "../support/two-tenants";
import { writesOf } from "../support/writes-of";

/*
 * The accident, through the real engine: two tenants at one host, and their keys swapped. Not one write at either, and nothing is
 * forgotten: with the right keys all goes on as if it had not been.
 */

const keyOf = (tenant: string): Record<string, string> => ({
  EMAIL_SECURITY_API_KEY: `sandbox-${tenant}-ci`,
});

const ALL_GONE = /nothing of what this stack's state says is there/;
const OTHER_PEOPLE = /its own people have mailboxes of "\w+\.example"/;

const ENTRIES = `
import { AllowDenyEntry, AllowDenyList } from "pulumi-email-security";
import { getStack } from "@pulumi/pulumi";
const about = getStack();
for (let i = 0; i < 6; i++) new AllowDenyEntry(\`e\${i}\`, { list: "deny", value: \`\${about}\${i}.example\` });
`;

/** Two stacks of a program, each applied to its own tenant. */
async function applied(sandbox: Sandbox, program: string, plugin = false): Promise<EngineProject> {
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url };
  const project = await EngineProject.create({ program, environment, stack: "acme", plugin });
  await project.succeed("stack", "init", "globex");
  for (const tenant of ["acme", "globex"]) {
    const run = await project.runWith(keyOf(tenant), "up", "--yes", "--skip-preview", "--stack", tenant);
    expect(run.output).toMatch(/Resources:/);
    expect(run.code).toBe(0);
  }
  sandbox.clearRequests();
  return project;
}

it.each([
  [
    "a program of dynamic resources",
    {
      program: ENTRIES,
      plugin: false,
      commands: ["refresh --yes --skip-preview", "up --yes --refresh --skip-preview"],
    },
  ],
  [
    "a program over the native plugin",
    {
      program: ENTRIES.replace('security"', 'security/native"'),
      plugin: true,
      commands: ["preview --refresh", "destroy --yes --skip-preview"],
    },
  ],
])(
  "%s: nothing is written where all that its state says is gone",
  async (_what, { program, plugin, commands }) => {
    await using sandbox = await twoTenants({ people: false });
    await using project = await applied(sandbox, program, plugin);
    const before = (await project.state("--stack", "acme")).text;
    const held = () => ["acme", "globex"].map((name) => sandbox.allowDenyEntries(name).length);
    for (const command of commands) {
      const args = command.split(" ");
      const run = await project.runWith(keyOf("globex"), ...args, "--stack", "acme");
      expect([args[0], run.code]).toEqual([args[0], 1]);
      expect(run.output).toMatch(ALL_GONE);
      expect(run.output).toContain("[ERR_OTHER_TENANT]");
    }
    // Without a refresh, what is new or changed is the first that reaches the tenant.
    await project.write(`${program}new AllowDenyEntry("new", { list: "deny", value: "new.example" });\n`);
    const up = await project.runWith(keyOf("globex"), "up", "--yes", "--skip-preview", "--stack", "acme");
    expect(up.output).toMatch(ALL_GONE);
    expect(writesOf(sandbox)).toEqual([]);
    expect(held()).toEqual([6, 6]);
    const resources = (text: string): unknown =>
      (JSON.parse(text) as { deployment: { resources: { urn: string; id?: string }[] } }).deployment.resources
        .map(({ urn, id }) => `${urn} ${id}`)
        .sort();
    expect(resources((await project.state("--stack", "acme")).text)).toEqual(resources(before));
    // With its own key, the run after it has only the new one to make.
    await project.runWith(keyOf("acme"), "up", "--yes", "--refresh", "--skip-preview", "--stack", "acme");
    expect(writesOf(sandbox)).toEqual(["POST /allow_deny_entries"]);
  },
);

it("settings files: a plan, a drift, an apply and an up are refused by whose mailboxes are there", async () => {
  await using sandbox = await twoTenants();
  const program = `
import { TenantSettings } from "pulumi-email-security";
import { getStack } from "@pulumi/pulumi";
new TenantSettings(getStack(), { file: \`settings/\${getStack()}.yaml\` });
`;
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url };
  await using project = await EngineProject.create({ program, environment, stack: "acme" });
  await project.succeed("stack", "init", "globex");
  await mkdir(join(project.folder, "settings"));
  for (const name of ["acme", "globex"]) {
    const deny = [`only-${name}.example`, "shared.example"].map((value) => `  - ${value}\n`).join("");
    await project.writeFile(
      `settings/${name}.yaml`,
      `version: 1\nownDomains: [${name}.example]\ndeny:\n${deny}`,
    );
  }
  const up = (key: string, stack: string, ...args: string[]) =>
    project.runWith(keyOf(key), "up", "--yes", "--skip-preview", "--stack", stack, ...args);
  for (const name of ["acme", "globex"]) expect((await up(name, name)).code).toBe(0);
  sandbox.clearRequests();
  // Without own domains, what the first run saw is what tells.
  const withoutDomains = (name: string): Promise<void> =>
    project.writeFile(
      `settings/${name}.yaml`,
      `version: 1\ndeny: [only-${name}.example, shared.example, more.example]\n`,
    );
  for (const name of ["acme", "globex"]) await withoutDomains(name);
  const cli = commandLine(project.folder, { ...project.environment, ...keyOf("globex") });
  const plan = await cli("plan", "settings/acme.yaml", "--stack", "acme", "--no-evidence");
  expect([plan.code, plan.output]).toEqual([expect.any(Number), expect.stringMatching(OTHER_PEOPLE)]);
  expect(plan.code).not.toBe(0);
  const apply = await cli("apply", "settings/acme.yaml", "--stack", "acme", "--yes");
  expect([apply.code, apply.output]).toEqual([3, expect.stringMatching(OTHER_PEOPLE)]);
  const drift = await cli("drift", "settings/acme.yaml", "--stack", "acme", "--adopt");
  expect([drift.code, drift.output]).toEqual([1, expect.stringMatching(/ERR_OTHER_TENANT/)]);
  for (const args of [[], ["--refresh"]]) {
    const run = await up("globex", "acme", ...args);
    expect([run.code, run.output]).toEqual([1, expect.stringMatching(OTHER_PEOPLE)]);
  }
  expect(writesOf(sandbox)).toEqual([]);
  const right = await up("acme", "acme", "--refresh");
  expect(right.code).toBe(0);
  expect(writesOf(sandbox)).toHaveLength(1);
});

it("tenants.yaml: a rollout is refused when it is planned, and when its keys are swapped after that", async () => {
  await using fleet = await Fleet.start({
    tenants: 2,
    scenario: (name) => ({ employees: [chiefOf(`${name}.example`)] }),
    waves: "waves:\n  - { name: one, take: 1, gate: true }\n  - { name: two }\n",
  });
  const swapped = { T0_KEY: fleet.environment["T1_KEY"], T1_KEY: fleet.environment["T0_KEY"] };
  expect((await fleet.rollout("--yes")).code).toBe(2);
  fleet.take();
  // The stack of the second tenant is not made yet: what tells is what the planning saw.
  const swappedLater = await fleet.begin(swapped, "rollout", "continue").ended;
  expect(swappedLater.code).toBe(1);
  expect(await fleet.states()).toEqual({ t0: "done", t1: "failed" });
  const { tenants } = await fleet.report();
  expect(tenants[1]?.error).toMatchObject({ code: "ERR_OTHER_TENANT" });
  expect(writesOf(fleet.sandbox)).toEqual([]);
  expect((await fleet.rollout("--resume")).code).toBe(0);
  expect(fleet.holds("t1")).toEqual(fleet.declared("t1"));

  await fleet.baseline(["another.example"]);
  fleet.take();
  const planned = await fleet.begin(swapped, "rollout", "--yes").ended;
  expect([planned.code, planned.output]).toEqual([3, expect.stringMatching(OTHER_PEOPLE)]);
  expect(planned.output).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=t0");
  expect(writesOf(fleet.sandbox)).toEqual([]);
});
