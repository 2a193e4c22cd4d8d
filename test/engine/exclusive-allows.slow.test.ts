import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { Fleet, formatTenantSettings, getStates, summarizeRun } from "../support/fleet";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";

/* Allow entries that somebody added in the console are removed, deny entries stay. Runs through the real engine. */

const ENTRIES = { "evil.example": "deny: INC-1", "partner.example": "allow: Contract 7" };
const MODE = "lists: { entries: { mode: exclusive-allows } }\n";

describe.each([
  ["dynamic", "pulumi-email-security", ""],
  ["native", "pulumi-email-security/native", PLUGIN_LINES],
])("exclusive allows with the %s provider", (_name, module, lines) => {
  let sandbox: Sandbox;
  let project: EngineProject;

  beforeAll(async () => {
    sandbox = await startSandbox({ scenario: "empty" });
    project = await EngineProject.create({
      program: `
        import { AllowDenyList } from "${module}";
        new AllowDenyList("lists", { mode: "exclusive-allows", entries: ${JSON.stringify(ENTRIES)} });
      `,
      environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
      files: { "Pulumi.yaml": `name: settings\nruntime: nodejs\n${lines}` },
    });
    await project.up();
  });
  afterAll(async () => {
    await project?.[Symbol.asyncDispose]();
    await sandbox?.close();
  });

  const createConsoleEntry = async (list: string, value: string): Promise<void> => {
    await click(sandbox, "POST", "/allow_deny_entries", { list, entry_type: "domain", value });
  };
  const listHeldEntries = (): string[] =>
    sandbox
      .allowDenyEntries("acme")
      .map(({ list, value }) => `${list} ${value}`)
      .sort();
  const readStateEntries = async (): Promise<unknown> => {
    const { resources } = await project.exportState();
    return resources.find(({ type }) => type.endsWith(":AllowDenyList"))?.outputs?.["entries"];
  };

  it("removes only console allows with `up --refresh`", async () => {
    await createConsoleEntry("allow", "clicked.example");
    await createConsoleEntry("deny", "colleague.example");
    sandbox.clearRequests();
    const preview = await project.runOrThrow("preview", "--refresh", "--diff", "--suppress-outputs");
    expect(preview).toContain('- clicked.example: "(unmanaged) allow"');
    expect(preview).not.toContain("colleague.example");
    expect(listWrites(sandbox)).toEqual([]);

    await project.up("--refresh");
    expect(listWrites(sandbox)).toEqual([expect.stringMatching(/^DELETE \/allow_deny_entries\//)]);
    expect(listHeldEntries()).toEqual(["allow partner.example", "deny colleague.example", "deny evil.example"]);
    expect(await readStateEntries()).toEqual(ENTRIES);

    sandbox.clearRequests();
    await project.up("--refresh", "--expect-no-changes");
    expect(listWrites(sandbox)).toEqual([]);
    expect(listHeldEntries()).toContain("deny colleague.example");
  });
});

describe("several tenants", () => {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start({ tenants: 3 });
    await fleet.write("settings/t1.yaml", formatTenantSettings("t1", `onDrift: revert\n${MODE}`));
    await fleet.write("settings/t2.yaml", formatTenantSettings("t2", MODE));
    expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  });

  const createFleetConsoleEntry = async (name: string, list: string, value: string): Promise<void> => {
    await fleet.sendFromConsole(name, "POST", "/allow_deny_entries", { list, entry_type: "domain", value });
  };

  it("reverts console allows with `--revert-drift`", async () => {
    for (const name of ["t0", "t1", "t2"]) {
      await createFleetConsoleEntry(name, "allow", "clicked.example");
      await createFleetConsoleEntry(name, "deny", "colleague.example");
    }
    const status = await fleet.start({}, "fleet", "status").result;
    expect(status.stdout).toContain("added allow clicked.example");

    fleet.sandbox.clearRequests();
    const revertRun = await fleet.runRollout("--revert-drift", "--yes");
    expect(summarizeRun(revertRun), revertRun.output).toEqual([0, ["t1"]]);
    expect(listWrites(fleet.sandbox)).toEqual([expect.stringMatching(/^DELETE \/allow_deny_entries\//)]);
    expect(fleet.listContents("t1")).toEqual([...fleet.listDeclaredContents("t1"), "deny colleague.example"].sort());

    fleet.sandbox.clearRequests();
    const done = await fleet.runRollout("--yes");
    expect(done, done.output).toMatchObject({ code: 0 });
    expect(listWrites(fleet.sandbox)).toEqual([expect.stringMatching(/^DELETE \/allow_deny_entries\//)]);
    expect(getStates(done.report())).toEqual({ t0: "unchanged", t1: "unchanged", t2: "done" });
    expect(done.report().tenants.map(({ unmanagedAllows }) => unmanagedAllows?.count)).toEqual([
      1,
      undefined,
      undefined,
    ]);
    expect(fleet.listContents("t2")).toEqual([...fleet.listDeclaredContents("t2"), "deny colleague.example"].sort());
    expect(fleet.listContents("t0")).toContain("allow clicked.example");
  });
});
