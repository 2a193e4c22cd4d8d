import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Sandbox } from "../../provider/sandbox";
import { createCli } from "../support/cli";
import { EngineProject } from "../support/engine-project";
import { Fleet } from "../support/fleet";
import { buildKeyVariables } from "../support/sandbox-environment";
import { click } from "../support/tenant-console";
import { buildExecutive, startTwoTenants } from "../support/two-tenants";
import { listWrites } from "../support/write-requests";

/*
 * The keys of two tenants at one host are swapped, with the real engine. Nothing is written to either tenant and
 * nothing is removed from the state. With the correct keys, everything continues as before.
 */

const ALL_GONE = /none of the elements in this stack's state exist/;
const OTHER_PEOPLE = /people have mailboxes of "\w+\.example"/;

const ENTRIES = `
import { AllowDenyEntry, AllowDenyList } from "pulumi-email-security";
import { getStack } from "@pulumi/pulumi";
const stack = getStack();
const entries: AllowDenyEntry[] = [];
for (let i = 0; i < 6; i++) entries.push(new AllowDenyEntry(\`e\${i}\`, { list: "deny", value: \`\${stack}\${i}.example\` }));
`;

/** Returns a program's stack that has been applied to its own tenant. Another tenant has as many entries. */
async function applyProgram(sandbox: Sandbox, program: string, plugin = false): Promise<EngineProject> {
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url };
  const project = await EngineProject.create({ program, environment, stack: "acme", plugin });
  const run = await project.runWith(buildKeyVariables("acme"), "up", "--yes", "--skip-preview");
  expect(run.code, run.output).toBe(0);
  for (const { value } of sandbox.allowDenyEntries("acme"))
    await denyFromConsole(sandbox, "globex", value.replace("acme", "globex"));
  sandbox.clearRequests();
  return project;
}

async function denyFromConsole(sandbox: Sandbox, tenant: string, value: string): Promise<void> {
  await click(sandbox, "POST", "/allow_deny_entries", { list: "deny", entry_type: "domain", value }, tenant);
}

it.each([
  [
    "a program of dynamic resources",
    {
      program: ENTRIES,
      plugin: false,
      // swapped-keys-dynamic.slow.test.ts covers `up --refresh` and `destroy`.
      commands: ["refresh --yes --skip-preview"],
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
])("writes nothing when everything in its state is gone: %s", async (_label, { program, plugin, commands }) => {
  await using sandbox = await startTwoTenants({ people: false });
  await using project = await applyProgram(sandbox, program, plugin);
  const before = (await project.exportState()).text;
  const countEntries = () => ["acme", "globex"].map((name) => sandbox.allowDenyEntries(name).length);
  for (const command of commands) {
    const args = command.split(" ");
    const run = await project.runWith(buildKeyVariables("globex"), ...args);
    expect([args[0], run.code]).toEqual([args[0], 1]);
    expect(run.output).toMatch(ALL_GONE);
    expect(run.output).toContain("[ERR_OTHER_TENANT]");
  }
  // Without a refresh, a new or changed resource is the first to reach the tenant. It depends on the others, so the engine
  // has asked about them before, however busy the machine is.
  const newEntry = 'new AllowDenyEntry("new", { list: "deny", value: "new.example" }, { dependsOn: entries });';
  await project.write(`${program}${newEntry}\n`);
  const up = await project.runWith(buildKeyVariables("globex"), "up", "--yes", "--skip-preview");
  expect(up.output).toMatch(ALL_GONE);
  expect(listWrites(sandbox)).toEqual([]);
  expect(countEntries()).toEqual([6, 6]);
  const listResources = (text: string): unknown =>
    (JSON.parse(text) as { deployment: { resources: { urn: string; id?: string }[] } }).deployment.resources
      .map(({ urn, id }) => `${urn} ${id}`)
      .sort();
  expect(listResources((await project.exportState()).text)).toEqual(listResources(before));
  // With the correct key, the next run only creates the new entry.
  await project.runWith(buildKeyVariables("acme"), "up", "--yes", "--refresh", "--skip-preview");
  expect(listWrites(sandbox)).toEqual(["POST /allow_deny_entries"]);
});

it("refuses every settings file command when other people's mailboxes are there", async () => {
  await using sandbox = await startTwoTenants();
  const program = `
import { TenantSettings } from "pulumi-email-security";
import { getStack } from "@pulumi/pulumi";
new TenantSettings(getStack(), { file: \`settings/\${getStack()}.yaml\` });
`;
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url };
  await using project = await EngineProject.create({ program, environment, stack: "acme" });
  await mkdir(join(project.directory, "settings"));
  const writeSettings = (text: string) => project.writeFile("settings/acme.yaml", `version: 1\n${text}`);
  const runUp = (key: string, ...args: string[]) =>
    project.runWith(buildKeyVariables(key), "up", "--yes", "--skip-preview", ...args);
  await writeSettings("ownDomains: [acme.example]\ndeny: [only-acme.example, shared.example]\n");
  expect((await runUp("acme")).code).toBe(0);
  for (const value of ["only-globex.example", "shared.example"]) await denyFromConsole(sandbox, "globex", value);
  sandbox.clearRequests();
  // Without own domains, the identity recorded by the first run reveals the mistake.
  await writeSettings("deny: [only-acme.example, shared.example, more.example]\n");
  const cli = createCli(project.directory, { ...project.environment, ...buildKeyVariables("globex") });
  const plan = await cli("plan", "settings/acme.yaml", "--stack", "acme", "--no-evidence");
  expect([plan.code, plan.output]).toEqual([expect.any(Number), expect.stringMatching(OTHER_PEOPLE)]);
  expect(plan.code).not.toBe(0);
  const apply = await cli("apply", "settings/acme.yaml", "--stack", "acme", "--yes");
  expect([apply.code, apply.output]).toEqual([3, expect.stringMatching(OTHER_PEOPLE)]);
  const drift = await cli("drift", "settings/acme.yaml", "--stack", "acme", "--adopt", "added");
  expect([drift.code, drift.output]).toEqual([1, expect.stringMatching(/ERR_OTHER_TENANT/)]);
  for (const args of [[], ["--refresh"]]) {
    const run = await runUp("globex", ...args);
    expect([run.code, run.output]).toEqual([1, expect.stringMatching(OTHER_PEOPLE)]);
  }
  expect(listWrites(sandbox)).toEqual([]);
  const right = await runUp("acme", "--refresh");
  expect(right.code).toBe(0);
  expect(listWrites(sandbox)).toHaveLength(1);
});

it("refuses a rollout with swapped keys when planned or resumed", async () => {
  await using fleet = await Fleet.start({
    tenants: 2,
    scenario: (name) => ({ employees: [buildExecutive(`${name}.example`)] }),
    waves: "waves:\n  - { name: one, limit: 1, gate: true }\n  - { name: two }\n",
  });
  const swapped = { T0_KEY: fleet.environment["T1_KEY"], T1_KEY: fleet.environment["T0_KEY"] };
  expect((await fleet.runRollout("--yes")).code).toBe(2);
  fleet.takeRequests();
  // The second tenant's stack doesn't exist yet, so the identity recorded while planning reveals the mistake.
  const swappedLater = await fleet.start(swapped, "rollout", "resume").result;
  expect(swappedLater.code).toBe(1);
  expect(await fleet.readStates()).toEqual({ t0: "done", t1: "failed" });
  const { tenants } = await fleet.report();
  expect(tenants[1]?.error).toMatchObject({ code: "ERR_OTHER_TENANT" });
  expect(listWrites(fleet.sandbox)).toEqual([]);
  expect((await fleet.runRollout("resume")).code).toBe(0);
  expect(fleet.listContents("t1")).toEqual(fleet.listDeclaredContents("t1"));

  await fleet.writeBaseline(["another.example"]);
  fleet.takeRequests();
  const planned = await fleet.start(swapped, "rollout", "--yes").result;
  expect(planned.code, planned.output).toBe(3);
  expect(planned.output).toMatch(/"t0" \([^)]+\) belongs to the tenant of "t1"/);
  expect(planned.output).toContain("EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=t0,t1");
  expect(listWrites(fleet.sandbox)).toEqual([]);
});
