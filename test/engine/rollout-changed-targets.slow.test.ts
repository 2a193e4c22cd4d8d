import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Advice } from "../../provider/rollout/model/rollout-report";
import { Fleet, type FleetCliResult, getStates, listStartedTenants, summarizeRun } from "../support/fleet";
import { watchRun } from "./rollout-isolation";

/*
 * A rollout writes only to tenants that are in the targets file when it starts or continues. Runs through the real
 * command and the real engine.
 */

let fleet: Fleet;

beforeEach(async () => {
  fleet = await Fleet.start({
    tenants: 3,
    waves: "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest, maxConcurrent: 2 }\n",
  });
});

afterEach(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

/** Returns the tenants that received a request since the last call, identified by key. */
function listQueriedTenants(): string[] {
  const names = fleet.takeRequests().map(({ tenant }) => tenant ?? "");
  return [...new Set(names)].sort();
}

async function replaceInTargets(text: string, replacement: string): Promise<void> {
  const before = await fleet.read("tenants.yaml");
  expect(before).toContain(text);
  await fleet.write("tenants.yaml", before.replace(text, replacement));
}

/** Runs the only advised command exactly as printed. */
async function runAdvice(advice: readonly Advice[], ...args: string[]): Promise<FleetCliResult> {
  const commands = advice.flatMap(({ command }) => command ?? []);
  expect(commands).toHaveLength(1);
  const [program, ...words] = commands[0]?.split(" ") ?? [];
  expect(program).toBe("email-security");
  return await fleet.start({}, ...words, ...args).result;
}

describe("resume", () => {
  it("skips a tenant that left the targets file at the gate", async () => {
    expect(summarizeRun(await fleet.runRollout("--yes"))).toEqual([2, ["t0"]]);
    await replaceInTargets("  t1: {}\n", "");
    fleet.takeRequests();
    const run = await fleet.runRollout("resume");
    expect(summarizeRun(run), run.output).toEqual([2, ["t2"]]);
    expect(listQueriedTenants()).toEqual(["t2"]);
    expect(fleet.listContents("t1")).toEqual([]);
    expect(getStates(run.report())).toEqual({ t0: "done", t1: "skipped", t2: "done" });
    expect(run.report().skipped).toMatchObject([{ name: "t1", reason: "tenants.yaml no longer contains it" }]);
    const status = await fleet.start({}, "rollout", "status").result;
    expect(status.stdout).toContain("DONE, 1 SKIPPED");
    expect(status.stdout).not.toContain("All ");
    expect(status.stdout).not.toContain("unskip t1");
  });

  it("writes to neither name of a renamed tenant", async () => {
    expect(summarizeRun(await fleet.runRollout("--yes"))).toEqual([2, ["t0"]]);
    await replaceInTargets("  t1: {}\n", "  acme: { key: { environment: T1_KEY }, settings: settings/t1.yaml }\n");
    const run = await fleet.runRollout("resume");
    expect(summarizeRun(run), run.output).toEqual([2, ["t2"]]);
    expect(fleet.listContents("t1")).toEqual([]);
    expect(run.report().skipped?.[0]?.reason).toMatch(
      /"acme" \(tenants\.yaml:\d+\) has its key and settings file, so it was probably renamed/,
    );
  });

  it("writes to no tenant with a changed address or settings file", async () => {
    expect(summarizeRun(await fleet.runRollout("--yes"))).toEqual([2, ["t0"]]);
    const other = fleet.sandbox.url.replace("127.0.0.1", "localhost");
    await replaceInTargets("  t1: {}\n", `  t1: { baseUrl: "${other}" }\n`);
    await replaceInTargets("  t2: {}\n", "  t2: { settings: settings/t1.yaml }\n");
    fleet.takeRequests();
    const run = await fleet.runRollout("resume");
    expect(summarizeRun(run), run.output).toEqual([2, []]);
    expect(listQueriedTenants()).toEqual([]);
    expect(run.report().skipped?.map(({ name, reason }) => [name, reason])).toEqual([
      ["t1", expect.stringContaining(`its address is now "${other}"`)],
      ["t2", expect.stringContaining('its settings file is now "settings/t1.yaml"')],
    ]);
  });

  it("reads a key from the variable in the current targets file", async () => {
    expect(summarizeRun(await fleet.runRollout("--yes"))).toEqual([2, ["t0"]]);
    await replaceInTargets("  t1: {}\n", "  t1: { key: { environment: NEW_T1_KEY } }\n");
    const { T1_KEY, EMAIL_SECURITY_KEY_VARIABLES } = fleet.environment;
    const renamed = {
      T1_KEY: undefined,
      NEW_T1_KEY: T1_KEY,
      EMAIL_SECURITY_KEY_VARIABLES: `${EMAIL_SECURITY_KEY_VARIABLES},NEW_T1_KEY`,
    };
    const run = await fleet.start(renamed, "rollout", "resume").result;
    expect(summarizeRun(run), run.output).toEqual([0, ["t1", "t2"]]);
    expect(run.output).toMatch(/key of "t1" now comes from the environment variable NEW_T1_KEY/);
    expect(fleet.listContents("t1")).toEqual(fleet.listDeclaredContents("t1"));

    const back = await fleet.start(renamed, "rollout", "rollback", "--yes").result;
    expect(summarizeRun(back), back.output).toEqual([0, ["t0", "t1", "t2"]]);
    expect(fleet.listContents("t1")).toEqual([]);
  });

  it("passes no outdated key to a child process", async () => {
    expect(summarizeRun(await fleet.runRollout("--yes"))).toEqual([2, ["t0"]]);
    await replaceInTargets("  t0: {}\n", "");
    await replaceInTargets("  t1: {}\n", "  t1: { key: { environment: NEW_T1_KEY } }\n");
    const keys = {
      // The environment still has both, for example as secrets of a pipeline.
      T1_KEY: fleet.getServiceKey("t1", "console"),
      NEW_T1_KEY: fleet.getServiceKey("t1"),
      EMAIL_SECURITY_KEY_VARIABLES: "NEW_T1_KEY,T2_KEY",
    };
    const run = fleet.start(keys, "rollout", "resume");
    const { keysSeen, wrong } = await watchRun(fleet, run);
    const ended = await run.result;
    expect(listStartedTenants(ended), ended.output).toEqual(["t1", "t2"]);
    expect({ keysSeen, wrong }).toEqual({
      keysSeen: new Set([fleet.getServiceKey("t1"), fleet.getServiceKey("t2")]),
      wrong: [],
    });
  });

  it("keeps the reviewed waves", async () => {
    expect(summarizeRun(await fleet.runRollout("--yes"))).toEqual([2, ["t0"]]);
    await replaceInTargets("limit: 1", "limit: 2");
    const run = await fleet.runRollout("resume");
    expect(summarizeRun(run), run.output).toEqual([0, ["t1", "t2"]]);
    expect(run.output).toContain(
      'The rollout keeps its reviewed waves, which differ from tenants.yaml: "t1" is now in the wave "canary".',
    );
  });

  it("leaves a restored tenant to the next rollout", async () => {
    expect(summarizeRun(await fleet.runRollout("--yes"))).toEqual([2, ["t0"]]);
    await replaceInTargets("  t1: {}\n", "");
    expect(summarizeRun(await fleet.runRollout("resume"))).toEqual([2, ["t2"]]);
    await replaceInTargets("  t2: {}\n", "  t1: {}\n  t2: {}\n");
    const run = await fleet.runRollout("--yes");
    expect(summarizeRun(run), run.output).toEqual([0, ["t1"]]);
    expect(run.report().skipped).toBeUndefined();
    expect(fleet.listContents("t1")).toEqual(fleet.listDeclaredContents("t1"));
  });
});

describe("run that soaks between its waves", () => {
  const SOAK = ", soak: 3s";

  it("skips a tenant that left the targets file while it soaks", async () => {
    await replaceInTargets(", gate: true", SOAK);
    const run = fleet.start({}, "rollout", "--yes");
    await run.waitForEvent(({ kind }) => kind === "wave-soaking");
    await replaceInTargets("  t1: {}\n", "");
    const ended = await run.result;
    expect(summarizeRun(ended), ended.output).toEqual([2, ["t0", "t2"]]);
    expect(fleet.listContents("t1")).toEqual([]);
    expect(ended.report().skipped).toMatchObject([{ name: "t1", reason: "tenants.yaml no longer contains it" }]);
  });

  it("stops if the targets file takes a key from a variable that isn't allowed", async () => {
    await replaceInTargets(", gate: true", SOAK);
    const run = fleet.start({ NEW_T1_KEY: fleet.environment["T1_KEY"] }, "rollout", "--yes");
    await run.waitForEvent(({ kind }) => kind === "wave-soaking");
    await replaceInTargets("  t1: {}\n", "  t1: { key: { environment: NEW_T1_KEY } }\n");
    const ended = await run.result;
    expect(listStartedTenants(ended), ended.output).toEqual(["t0"]);
    expect(ended.report().reason).toContain("ERR_ROLLOUT_NOT_ALLOWED");
    const environment = {
      NEW_T1_KEY: fleet.environment["T1_KEY"],
      EMAIL_SECURITY_KEY_VARIABLES: `${fleet.environment["EMAIL_SECURITY_KEY_VARIABLES"]},NEW_T1_KEY`,
    };
    const resumed = await fleet.start(environment, "rollout", "resume").result;
    expect(summarizeRun(resumed), resumed.output).toEqual([0, ["t1", "t2"]]);
  });

  it("stops before the next wave if the targets file can't be read", async () => {
    await replaceInTargets(", gate: true", SOAK);
    const before = await fleet.read("tenants.yaml");
    const run = fleet.start({}, "rollout", "--yes");
    await run.waitForEvent(({ kind }) => kind === "wave-soaking");
    await fleet.write("tenants.yaml", "tenants: [");
    const ended = await run.result;
    expect(listStartedTenants(ended), ended.output).toEqual(["t0"]);
    expect(ended.report().reason).toMatch(/^The targets file can't be used for the next wave: /);
    await fleet.write("tenants.yaml", before);
    const resumed = await fleet.runRollout("resume");
    expect(summarizeRun(resumed), resumed.output).toEqual([0, ["t1", "t2"]]);
  });
});

describe("rollback", () => {
  it("skips a removed tenant", async () => {
    await replaceInTargets(", gate: true", "");
    expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
    const before = fleet.listContents("t1");
    await replaceInTargets("  t1: {}\n", "");
    fleet.takeRequests();
    const plan = await fleet.runRollout("rollback");
    expect(plan.code, plan.output).toBe(2);
    expect(plan.output).toMatch(/t1, since .*: tenants\.yaml no longer contains it/);
    const run = await fleet.runRollout("rollback", "--yes");
    expect(run.code, run.output).toBe(2);
    expect(listStartedTenants(run)).toEqual(["t0", "t2"]);
    expect(listQueriedTenants()).toEqual(["t0", "t2"]);
    expect(fleet.listContents("t1")).toEqual(before);
    expect(fleet.listContents("t0")).toEqual([]);
    expect(run.report().skipped).toMatchObject([{ name: "t1" }]);
  });

  it("advises rolling back the rest only while that works", async () => {
    await replaceInTargets(", gate: true", "");
    const { id } = (await fleet.runRollout("--yes")).report();
    await replaceInTargets("  t1: {}\n", "");
    const plan = await fleet.runRollout("rollback");
    expect(plan.output).toContain("The rollback changes nothing there.");
    expect(plan.output).not.toContain("unskip");
    expect(summarizeRun(await fleet.runRollout("rollback", "--yes"))).toEqual([2, ["t0", "t2"]]);
    expect((await fleet.report(id)).advice).toEqual([
      {
        reason: `The rollback is incomplete. Left out: "t1" (tenants.yaml no longer contains it). Restore the tenant in the targets file, or remove what the rollout did in the console.`,
      },
    ]);
    const again = await fleet.runRollout("rollback", "--yes", id);
    expect(summarizeRun(again), again.output).toEqual([1, []]);
    expect(again.output).toMatch(/already rolled back by \S+, but not in "t1" \(tenants\.yaml no longer contains it/);
    await replaceInTargets("  t2: {}\n", "  t1: {}\n  t2: {}\n");

    expect(await fleet.runRollout("skip", "t1", "--reason", "later")).toMatchObject({ code: 0 });
    const unskip = (await fleet.report(id)).advice;
    expect(unskip).toMatchObject([{ reason: expect.stringContaining('"t1" is skipped.') }]);
    expect(await runAdvice(unskip)).toMatchObject({ code: 0 });
    const back = await runAdvice((await fleet.report(id)).advice, "--yes");
    expect(summarizeRun(back), back.output).toEqual([0, ["t1"]]);
    expect(fleet.listContents("t1")).toEqual([]);
    expect((await fleet.report(id)).advice).toEqual([]);
  });

  it("succeeds without the key of a removed tenant", async () => {
    await replaceInTargets(", gate: true", "");
    expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
    await replaceInTargets("  t1: {}\n", "");
    const run = await fleet.start({ T1_KEY: undefined }, "rollout", "rollback", "--yes").result;
    expect(summarizeRun(run), run.output).toEqual([2, ["t0", "t2"]]);
  });

  it("refuses a removed tenant that is selected by name", async () => {
    await replaceInTargets(", gate: true", "");
    expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
    await replaceInTargets("  t1: {}\n", "");
    const run = await fleet.runRollout("rollback", "--yes", "--only", "t1");
    expect(summarizeRun(run), run.output).toEqual([1, []]);
    expect(run.output).toContain('"t1": tenants.yaml no longer contains it.');
  });
});
