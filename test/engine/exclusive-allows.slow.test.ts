import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { Fleet, settingsOf, statesIn, summarizeRun } from "../support/fleet";
import { click } from "../support/tenant-console";
import { writesOf } from "../support/write-requests";

/* Allow entries that somebody added in the console are removed, deny entries stay. Runs through the real engine. */

const ENTRIES = { "evil.example": "deny: INC-1", "partner.example": "allow: Contract 7" };
const MODE = "lists: { entries: { mode: exclusive-allows } }\n";

describe.each([
  ["dynamic", "pulumi-email-security", ""],
  ["native", "pulumi-email-security/native", PLUGIN_LINES],
])("%s provider", (_name, module, lines) => {
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

  const add = async (list: string, value: string): Promise<void> => {
    await click(sandbox, "POST", "/allow_deny_entries", { list, entry_type: "domain", value });
  };
  const held = (): string[] =>
    sandbox
      .allowDenyEntries("acme")
      .map(({ list, value }) => `${list} ${value}`)
      .sort();
  const entriesInState = async (): Promise<unknown> => {
    const { resources } = await project.state();
    return resources.find(({ type }) => type.endsWith(":AllowDenyList"))?.outputs?.["entries"];
  };

  it("removes a console allow and keeps a console deny with `up --refresh`", async () => {
    await add("allow", "clicked.example");
    await add("deny", "colleague.example");
    sandbox.clearRequests();
    const preview = await project.runOrThrow("preview", "--refresh", "--diff", "--suppress-outputs");
    expect(preview).toContain('- clicked.example: "(unmanaged) allow"');
    expect(preview).not.toContain("colleague.example");
    expect(writesOf(sandbox)).toEqual([]);

    await project.up("--refresh");
    expect(writesOf(sandbox)).toEqual([expect.stringMatching(/^DELETE \/allow_deny_entries\//)]);
    expect(held()).toEqual(["allow partner.example", "deny colleague.example", "deny evil.example"]);
    expect(await entriesInState()).toEqual(ENTRIES);

    sandbox.clearRequests();
    await project.up("--refresh", "--expect-no-changes");
    expect(writesOf(sandbox)).toEqual([]);
    expect(held()).toContain("deny colleague.example");
  });
});

describe("several tenants", () => {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start({ tenants: 3 });
    await fleet.write("settings/t1.yaml", settingsOf("t1", `onDrift: revert\n${MODE}`));
    await fleet.write("settings/t2.yaml", settingsOf("t2", MODE));
    expect(await fleet.rollout("--yes")).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  });

  const add = async (name: string, list: string, value: string): Promise<void> => {
    await fleet.console(name, "POST", "/allow_deny_entries", { list, entry_type: "domain", value });
  };

  it("reverts console allows with `--revert-drift` and counts the remaining ones", async () => {
    for (const name of ["t0", "t1", "t2"]) {
      await add(name, "allow", "clicked.example");
      await add(name, "deny", "colleague.example");
    }
    const status = await fleet.start({}, "fleet", "status").result;
    expect(status.stdout).toContain("added allow clicked.example");

    fleet.sandbox.clearRequests();
    const revertRun = await fleet.rollout("--revert-drift", "--yes");
    expect(summarizeRun(revertRun), revertRun.output).toEqual([0, ["t1"]]);
    expect(writesOf(fleet.sandbox)).toEqual([expect.stringMatching(/^DELETE \/allow_deny_entries\//)]);
    expect(fleet.holds("t1")).toEqual([...fleet.declared("t1"), "deny colleague.example"].sort());

    fleet.sandbox.clearRequests();
    const done = await fleet.rollout("--yes");
    expect(done, done.output).toMatchObject({ code: 0 });
    expect(writesOf(fleet.sandbox)).toEqual([expect.stringMatching(/^DELETE \/allow_deny_entries\//)]);
    expect(statesIn(done.report())).toEqual({ t0: "unchanged", t1: "unchanged", t2: "done" });
    expect(done.report().tenants.map(({ unmanagedAllows }) => unmanagedAllows?.count)).toEqual([
      1,
      undefined,
      undefined,
    ]);
    expect(fleet.holds("t2")).toEqual([...fleet.declared("t2"), "deny colleague.example"].sort());
    expect(fleet.holds("t0")).toContain("allow clicked.example");
  });
});
