import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { type Cli, createCli } from "../support/cli";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { buildLanguageHost, findMissingToolchain, prependToPath } from "../support/language-hosts";
import { listWrites } from "../support/write-requests";
import { BASELINE, PROGRAM, SETTINGS } from "./tenant-settings";

/*
 * Settings files with the native plugin: in a program in any language, and when a stack moves from dynamic resources.
 */

const missing = findMissingToolchain("yaml");

const YAML = `name: settings
runtime: yaml
${PLUGIN_LINES}resources:
  acme:
    type: email-security:TenantSettings
    properties: { file: settings/acme.yaml }
`;

let sandbox: Sandbox;
let isRefusing = false;
beforeEach(async () => {
  sandbox = await startSandbox({
    scenario: "empty",
    intercept: ({ body }) =>
      isRefusing && (body as { value?: string } | undefined)?.value === "partner.example"
        ? { status: 400, body: { error: "no" } }
        : undefined,
  });
});
afterEach(async () => {
  await sandbox.close();
});

async function createSettingsProject(more: Record<string, string> = {}): Promise<[EngineProject, Cli]> {
  const environment = {
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    ...more,
  };
  const project = await EngineProject.create({ program: PROGRAM, plugin: true, environment });
  await mkdir(join(project.directory, "settings"));
  await project.writeFile("settings/baseline.yaml", BASELINE);
  await project.writeFile("settings/acme.yaml", SETTINGS);
  return [project, createCli(project.directory, project.environment)];
}

it.skipIf(missing)(
  `enforces the reviewed plan for a YAML program${missing ? ` (skipped: ${missing})` : ""}`,
  async () => {
    const [project, cli] = await createSettingsProject(prependToPath(await buildLanguageHost("yaml")));
    await using _project = project;
    await project.writeFile("Pulumi.yaml", YAML);
    const args = ["settings/acme.yaml", "--stack", "dev"];
    const applyPlan = async () => await cli("apply", ...args, "--plan", "plan.json", "--yes");
    const runEnforcedUp = async () =>
      await project.runWith({ EMAIL_SECURITY_PLAN: "plan.json" }, "up", "--yes", "--skip-preview");

    // A preview without a key reports the mistakes in the files, with line numbers.
    await project.writeFile("settings/acme.yaml", `${SETTINGS}deny: [bad]\n`);
    const keyless = { EMAIL_SECURITY_API_KEY: "", EMAIL_SECURITY_BASE_URL: "" };
    const mistaken = await project.runWith(keyless, "preview");
    expect(mistaken.output).toContain('settings/acme.yaml:12:8 error: value "bad" isn\'t a full domain');
    expect(mistaken.code).not.toBe(0);
    const expiredEntry = "deny: [{ value: lapsed.example, expires: 2020-01-01 }]\n";
    await project.writeFile("settings/acme.yaml", `${SETTINGS}${expiredEntry}`);
    const { output } = await project.runWith(keyless, "preview");
    expect(output).toContain("+ 4 to create");
    // Messages about the files are shown at their component.
    expect(output).toMatch(/email-security:index:TenantSettings \(acme\):\n.*1 has expired and is no longer declared/);
    await project.writeFile("settings/acme.yaml", SETTINGS);

    // An error of the service names the entry, and nothing else is reported.
    isRefusing = true;
    const rejection = await project.run("up", "--yes", "--skip-preview");
    expect(rejection.output).toContain("partner.example: POST /api/v1/settings/allow_deny_entries");
    expect(rejection.output).not.toContain("has a problem");
    isRefusing = false;
    expect((await project.run("destroy", "--yes", "--skip-preview")).code).toBe(0);
    sandbox.clearRequests();

    // `apply` makes the reviewed changes.
    await cli("plan", ...args, "--no-evidence", "--output", "plan.json");
    const applied = await applyPlan();
    expect(applied.code, applied.output).toBe(0);
    expect(listWrites(sandbox)).toHaveLength(3);
    // The stack records the declarations, so that a plan can show removals.
    expect((await cli("plan", ...args, "--no-evidence")).code).toBe(0);
    expect((await cli("drift", "settings/acme.yaml", "--stack", "dev")).code).toBe(0);
    const less = SETTINGS.replace(/allow:.*/s, "");
    await project.writeFile("settings/acme.yaml", less);
    const removing = await cli("plan", ...args, "--no-evidence", "--output", "plan.json");
    expect(removing.output).toContain("- remove allow partner.example");

    // A file that changed since the review is rejected before any request, by comparing the file itself.
    sandbox.clearRequests();
    await project.writeFile("settings/acme.yaml", less.replace("Releases payments", "Somebody else"));
    const moved = await runEnforcedUp();
    expect(moved.output).toContain(`"settings/acme.yaml" doesn't match the reviewed plan on`);
    expect(moved.output).toContain("[ERR_PLAN_STALE]");

    // A program that declares something other than the file is rejected too, by the list that would write it.
    await project.writeFile("settings/acme.yaml", less);
    await project.writeFile(
      "Pulumi.yaml",
      `${YAML}  more:
    type: email-security:AllowDenyList
    properties: { entries: { other.example: deny } }
`,
    );
    const other = await runEnforcedUp();
    expect(other.output).toContain("the review didn't show that it would be deny without a comment");
    const written = listWrites(sandbox);
    expect(written.filter((line) => !line.startsWith("DELETE"))).toEqual([]);

    // The reviewed declarations are applied.
    await project.writeFile("Pulumi.yaml", YAML);
    const done = await runEnforcedUp();
    expect(done.code, done.output).toBe(0);
    expect(sandbox.allowDenyEntries("acme").map(({ value }) => value)).toEqual(["evil.example"]);
  },
);

it("moves settings from dynamic resources to the plugin and back without requests", async () => {
  const [project] = await createSettingsProject();
  await using _project = project;
  await project.up();
  const before = await readLists(project);
  sandbox.clearRequests();

  await project.write(PROGRAM.replace('security"', 'security/native"'));
  const there = await project.up();
  expect(there.match(/updated .*\[diff: ~provider\]/g)).toHaveLength(2);
  expect(await readLists(project)).toEqual(before);
  await project.up("--expect-no-changes");

  await project.write(PROGRAM);
  const back = await project.up();
  expect(back.match(/updated .*\[diff: ~provider\]/g)).toHaveLength(2);
  expect(await readLists(project)).toEqual(before);
  expect(sandbox.requests).toEqual([]);
});

/** Returns the two lists in the state, without the parts that depend on the provider. */
async function readLists(project: EngineProject): Promise<unknown> {
  const { resources } = await project.exportState();
  return resources
    .filter(({ id }) => id !== undefined)
    .map(({ urn, id, inputs, outputs }) => {
      const { __provider: _shell, ...input } = inputs ?? {};
      const { __provider: _own, ...rows } = outputs ?? {};
      return { name: urn.split(/[:$]/).slice(-3), id, inputs: input, outputs: rows };
    })
    .sort((a, b) => ((a.id ?? "") < (b.id ?? "") ? -1 : 1));
}
