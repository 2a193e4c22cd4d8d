import { expect, it } from "vitest";
import type { RolloutReport } from "../../provider/rollout/model/rollout-report";
import { startFaultyProxy } from "../support/faulty-proxy";
import { Fleet, formatTenantSettings, getStates, listStartedTenants } from "../support/fleet";

/*
 * Failed tenants that stop a rollout, and how to continue.
 * Runs through the real command and the real engine, each test with its own fleet.
 */

function listErrors({ tenants }: RolloutReport): Record<string, unknown> {
  return Object.fromEntries(
    tenants.flatMap(({ name, error }) => (error === undefined ? [] : [[name, [error.phase, error.code]]])),
  );
}

/** Returns the tenants that were written to since the last call. */
function takeWrittenTenants(fleet: Fleet): string[] {
  const writes = fleet.takeRequests().filter(({ method }) => method !== "GET");
  return [...new Set(writes.map(({ tenant }) => tenant ?? "nobody"))].sort();
}

/** The entries that t3 declares in addition to the baseline. */
const OWN = Array.from({ length: 12 }, (_, entry) => `own${entry}.example`);

/** Starts six tenants in two waves, one of them behind a proxy. */
async function startBehindProxy() {
  const fleet = await Fleet.start({
    tenants: 6,
    waves: `waves:
  - { name: first, limit: 4, failureTolerance: 1 }
  - { name: second, failureTolerance: 2 }
`,
  });
  const proxy = await startFaultyProxy({ target: fleet.sandbox.url });
  await fleet.write("settings/t3.yaml", formatTenantSettings("t3", OWN.map((value) => `  - ${value}\n`).join("")));
  const formatTenantOptions = (name: string): string => (name === "t1" ? `{ baseUrl: ${proxy.url} }` : "{}");
  await fleet.writeTargets({ formatTenantOptions });
  return {
    fleet,
    proxy,
    formatTenantOptions,
    declared(name: string): string[] {
      const own = name === "t3" ? OWN.map((value) => `deny ${value}`) : [];
      return [...fleet.listDeclaredContents(name), ...own].sort();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await proxy[Symbol.asyncDispose]();
      await fleet[Symbol.asyncDispose]();
    },
  };
}

it("writes nothing when more tenants than tolerated can't be planned", async () => {
  await using all = await startBehindProxy();
  const { fleet, formatTenantOptions } = all;
  const noKeys = { T0_KEY: undefined, T2_KEY: "sandbox-t9-ci" };
  const unplanned = await fleet.start(noKeys, "rollout", "--yes", "--output", "unplanned.json").result;
  expect(unplanned).toMatchObject({ code: 1, output: expect.stringContaining("[ERR_ROLLOUT_PLAN]") });
  expect(unplanned.output).toContain("T0_KEY");
  expect(unplanned.output).toMatch(/[34] of 6 tenants were not planned\. Nothing was changed\./);
  const reported = JSON.parse(await fleet.read("unplanned.json")) as RolloutReport;
  expect(reported).toMatchObject({ state: "stopped", counts: { failed: 2, done: 0 } });
  expect(listErrors(reported)).toMatchObject({
    t0: ["plan", "ERR_ROLLOUT_KEY"],
    t2: ["plan", "ERR_AUTH"],
    t5: ["plan", "ERR_ROLLOUT_PLAN"],
  });

  // Each wave tolerates one failure, but the rollout as a whole doesn't tolerate two.
  await fleet.writeTargets({
    formatTenantOptions,
    waves: `failureTolerance: 1
waves:
  - { name: first, limit: 4, failureTolerance: 1 }
  - { name: second, failureTolerance: 2 }
`,
  });
  const allRun = await fleet.start({ T0_KEY: undefined, T5_KEY: undefined }, "rollout", "--yes").result;
  expect(allRun).toMatchObject({ code: 1, output: expect.stringContaining("[ERR_ROLLOUT_PLAN]") });
  expect(takeWrittenTenants(fleet)).toEqual([]);
});

it("resumes only what is left after too many failures", async () => {
  await using all = await startBehindProxy();
  const { fleet, proxy, declared } = all;
  proxy.inject({
    method: "POST",
    fault: { forwarded: false, response: { status: 500, body: '{"error":"down"}' } },
  });
  const run = await fleet.start({ T0_KEY: "sandbox-t9-ci" }, "rollout", "--yes").result;
  expect(run).toMatchObject({ code: 1 });
  const stopped = run.report();
  expect(stopped.state).toBe("stopped");
  expect(listErrors(stopped)).toEqual({ t0: ["plan", "ERR_AUTH"], t1: ["apply", expect.any(String)] });
  expect(getStates(stopped)).toEqual({
    t0: "failed",
    t1: "failed",
    t2: "pending",
    t3: "pending",
    t4: "pending",
    t5: "pending",
  });
  expect(takeWrittenTenants(fleet)).toEqual([]);

  await proxy.removeFaults();
  const resumed = fleet.start({}, "rollout", "resume");
  await resumed.waitForEvent((event) => event.kind === "tenant-started" && event.tenant === "t2");
  // A colleague edits in the console after the plan and before the tenant is changed.
  await fleet.sendFromConsole("t5", "POST", "/allow_deny_entries", {
    list: "allow",
    entry_type: "domain",
    value: "evil1.example",
  });
  expect(await resumed.result).toMatchObject({ code: 1 });
  expect(listStartedTenants(await resumed.result)).toEqual(["t1", "t2", "t3", "t4", "t5"]);
  const report = (await resumed.result).report();
  expect(listErrors(report)).toEqual({ t0: ["plan", "ERR_AUTH"], t5: ["apply", "ERR_PLAN_STALE"] });
  expect(report.state).toBe("done");
  for (const name of ["t1", "t2", "t3", "t4"]) expect(fleet.listContents(name)).toEqual(declared(name));
  expect(fleet.listContents("t0")).toEqual([]);
  expect(fleet.listContents("t5")).toEqual(["allow evil1.example"]);
  expect(report.advice.map(({ command }) => command)).toContain("email-security rollout tenants.yaml");
  fleet.takeRequests();

  // The colleague reverts the edit. One tenant is left, in addition to the one that was never planned.
  const [{ id = "" } = {}] = fleet.sandbox.allowDenyEntries("t5");
  await fleet.sendFromConsole("t5", "DELETE", `/allow_deny_entries/${id}`);
  fleet.takeRequests();
  const last = await fleet.runRollout("resume");
  expect(listStartedTenants(last)).toEqual(["t5"]);
  expect(listErrors(last.report())).toEqual({ t0: ["plan", "ERR_AUTH"] });
  expect(takeWrittenTenants(fleet)).toEqual(["t5"]);

  // A new plan with the correct key, and another organization's mailbox at another tenant.
  await fleet.write("settings/t4.yaml", formatTenantSettings("t4", "vips:\n  - nobody@elsewhere.example\n"));
  const again = await fleet.runRollout("--yes");
  expect({ code: again.code, errors: listErrors(again.report()) }).toEqual({
    code: 1,
    errors: { t4: ["apply", "ERR_NOT_IN_ORGANIZATION"] },
  });
  expect(takeWrittenTenants(fleet)).toEqual(["t0", "t4"]);
  await fleet.write("settings/t4.yaml", formatTenantSettings("t4"));
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(declared(name));

  // If one tenant's removal guard trips, nothing is written at all.
  await fleet.write("settings/t0.yaml", formatTenantSettings("t0", "  - more.example\n"));
  await fleet.write("settings/t3.yaml", formatTenantSettings("t3"));
  fleet.takeRequests();
  const guarded = await fleet.runRollout("--yes");
  expect(guarded).toMatchObject({ code: 3, output: expect.stringMatching(/t3[\s\S]*12 of 16/) });
  expect(guarded.events).toEqual([]);
  expect(takeWrittenTenants(fleet)).toEqual([]);
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(declared(name));
});

/** The request timeout: long enough for a service that responds, even on a busy machine. */
const LIMIT = { EMAIL_SECURITY_TIMEOUT_MS: "1000" };

it("stops at its failure tolerance when an address goes silent", async () => {
  await using fleet = await Fleet.start({ tenants: 6 });
  await using proxy = await startFaultyProxy({ target: fleet.sandbox.url });
  const writeTargets = async (failureTolerance: number): Promise<void> =>
    await fleet.writeTargets({
      formatTenantOptions: () => `{ baseUrl: ${proxy.url} }`,
      waves: `waves:\n  - { name: all, failureTolerance: ${failureTolerance} }\n`,
    });
  await writeTargets(4);
  const run = fleet.start(LIMIT, "rollout", "--yes");
  await run.waitForEvent(({ kind }) => kind === "started");
  proxy.inject({ fault: { forwarded: false, response: "silence" } });
  const before = proxy.requests.length;
  const ended = await run.result;
  expect(ended).toMatchObject({ code: 1 });
  expect(listStartedTenants(ended)).toEqual(["t0", "t1", "t2", "t3", "t4"]);
  const report = ended.report();
  expect(report).toMatchObject({ state: "stopped", counts: { failed: 5, pending: 1 } });
  expect(listErrors(report)["t0"]).toEqual(["apply", "ERR_TIMEOUT"]);
  expect(report.tenants.at(4)?.error?.message).toMatch(/^No request was sent for this tenant, and it was not changed/);
  // At most three lists with four attempts each by the first tenant's engine, one read by the second tenant, and
  // nothing by the others. On a busy machine, a request may time out before it is sent.
  expect(proxy.requests.length - before).toBeLessThanOrEqual(3 * 4 + 1);

  // While planning, at most each list once in total, and one read for some tenants.
  const planned = proxy.requests.length;
  await writeTargets(1);
  const unplanned = await fleet.start(LIMIT, "rollout", "--yes").result;
  expect(unplanned).toMatchObject({ code: 1, output: expect.stringContaining("[ERR_ROLLOUT_PLAN]") });
  expect(proxy.requests.length - planned).toBeLessThanOrEqual(3 + 3);
  expect(takeWrittenTenants(fleet)).toEqual([]);
});
