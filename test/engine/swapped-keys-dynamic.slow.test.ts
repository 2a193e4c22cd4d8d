import { expect, it } from "vitest";
import { createCli } from "../support/cli";
import { EngineProject } from "../support/engine-project";
import { buildKeyVariables } from "../support/sandbox-environment";
import { startTwoTenants } from "../support/two-tenants";
import { listWrites } from "../support/write-requests";

/*
 * The keys of two tenants at one host are swapped, with the real engine. Nothing is written to either tenant and
 * nothing is removed from the state. swapped-keys.slow.test.ts covers the native plugin, a rollout, and the runs after
 * it.
 */

/** A settings file, and an entry that the program itself declares. */
const PROGRAM = `
import { AllowDenyEntry, TenantSettings } from "pulumi-email-security";
const settings = new TenantSettings("acme", { file: "acme.yaml" });
new AllowDenyEntry("own", { list: "deny", value: "own.example" }, { dependsOn: settings });
`;

it("changes nothing with the key of another tenant", async () => {
  await using sandbox = await startTwoTenants();
  await using project = await EngineProject.create({
    program: PROGRAM,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url },
    files: { "acme.yaml": "version: 1\nownDomains: [acme.example]\ndeny: [evil.example, worse.example]\n" },
  });
  const runWithKey = (key: string, ...args: string[]) =>
    project.runWith(buildKeyVariables(key), ...args, "--yes", "--skip-preview");

  // The very first run, without any state to compare with.
  const first = await runWithKey("globex", "up");
  expect([first.code, first.output]).toEqual([
    1,
    expect.stringMatching(/people have mailboxes of "globex\.example", which aren't among the configured own domains/),
  ]);
  const listIds = async (): Promise<string[]> =>
    (await project.exportState()).resources.flatMap(({ urn, id }) => (id === undefined ? [] : [`${urn} ${id}`])).sort();
  expect(await listIds()).toEqual([]);
  expect(listWrites(sandbox)).toEqual([]);

  expect((await runWithKey("acme", "up")).code).toBe(0);
  expect(sandbox.allowDenyEntries("acme")).toHaveLength(3);
  sandbox.clearRequests();
  const before = await listIds();

  const cli = createCli(project.directory, { ...project.environment, ...buildKeyVariables("globex") });
  const apply = await cli("apply", "acme.yaml", "--stack", "dev", "--yes");
  expect([apply.code, apply.output]).toEqual([3, expect.stringContaining("Refused by other-tenant")]);
  for (const command of [["up", "--refresh"], ["destroy"]]) {
    const { code, output } = await runWithKey("globex", ...command);
    expect([command[0], code]).toEqual([command[0], 1]);
    expect(output).toContain("[ERR_OTHER_TENANT]");
  }
  expect(listWrites(sandbox)).toEqual([]);
  expect(sandbox.allowDenyEntries("acme")).toHaveLength(3);
  expect(before).toHaveLength(3);
  expect(await listIds()).toEqual(before);
});
