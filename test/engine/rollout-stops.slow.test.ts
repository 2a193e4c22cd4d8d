import { afterAll, beforeAll, expect, it } from "vitest";
import type { RolloutReport } from "../../provider/rollout/report/rollout-report";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty-proxy";
import { baselineOf, Fleet, settingsOf } from "../support/fleet";

/*
 * What stops a rollout, and how somebody goes on: tenants that fail, guards, gates, checks that are not well. Each story
 * goes on from test to test, through the real command and the real engine.
 */

function errors({ tenants }: RolloutReport): Record<string, unknown> {
  return Object.fromEntries(
    tenants.flatMap(({ name, error }) => (error === undefined ? [] : [[name, [error.phase, error.code]]])),
  );
}

function states({ tenants }: RolloutReport): Record<string, string> {
  return Object.fromEntries(tenants.map(({ name, state }) => [name, state]));
}

/** The tenants that were written to since the last look. */
function written(fleet: Fleet): string[] {
  const writes = fleet.take().filter(({ method }) => method !== "GET");
  return [...new Set(writes.map(({ tenant }) => tenant ?? "nobody"))].sort();
}

const begun = (run: { readonly events: readonly { readonly kind: string; readonly tenant?: string }[] }) =>
  run.events.flatMap(({ kind, tenant }) =>
    kind === "tenant-started" && tenant !== undefined ? [tenant] : [],
  );

/** What only t3 declares beside. */
const OWN = Array.from({ length: 12 }, (_, entry) => `own${entry}.example`);

let fleet: Fleet;
let proxy: FaultyProxy;

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 6,
    waves: `waves:
  - { name: first, take: 4, failureTolerance: 1 }
  - { name: second, failureTolerance: 2 }
`,
  });
  proxy = await startFaultyProxy({ target: fleet.sandbox.url });
  await fleet.write("settings/t3.yaml", settingsOf("t3", OWN.map((value) => `  - ${value}\n`).join("")));
  await fleet.targets({ about: (name) => (name === "t1" ? `{ baseUrl: ${proxy.url} }` : "{}") });
});

afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await fleet?.[Symbol.asyncDispose]();
});

it("writes nothing at all when more can't be planned than is tolerated", async () => {
  const noKeys = { T0_KEY: undefined, T2_KEY: "sandbox-t9-ci" };
  const unplanned = await fleet.begin(noKeys, "rollout", "--yes", "--json", "unplanned.json").ended;
  expect(unplanned).toMatchObject({ code: 1, output: expect.stringContaining("[ERR_ROLLOUT_PLAN]") });
  expect(unplanned.output).toContain("T0_KEY");
  expect(unplanned.output).toMatch(/[34] of 6 tenants were not planned\. Nothing was changed\./);
  const reported = JSON.parse(await fleet.read("unplanned.json")) as RolloutReport;
  expect(reported).toMatchObject({ state: "abandoned", counts: { failed: 2, done: 0 } });
  expect(errors(reported)).toMatchObject({
    t0: ["plan", "ERR_ROLLOUT_KEY"],
    t2: ["plan", "ERR_AUTH"],
    t5: ["plan", "ERR_ROLLOUT_PLAN"],
  });

  // Each wave would bear one, and the rollout as a whole does not bear two.
  await fleet.targets({
    about: (name) => (name === "t1" ? `{ baseUrl: ${proxy.url} }` : "{}"),
    waves: `failureTolerance: 1
waves:
  - { name: first, take: 4, failureTolerance: 1 }
  - { name: second, failureTolerance: 2 }
`,
  });
  const inAll = await fleet.begin({ T0_KEY: undefined, T5_KEY: undefined }, "rollout", "--yes").ended;
  expect(inAll).toMatchObject({ code: 1, output: expect.stringContaining("[ERR_ROLLOUT_PLAN]") });
  await fleet.targets({ about: (name) => (name === "t1" ? `{ baseUrl: ${proxy.url} }` : "{}") });
  expect(written(fleet)).toEqual([]);
});

it("stops at one failure more than is tolerated, and begins no later wave", async () => {
  proxy.inject({
    method: "POST",
    fault: { forwarded: false, told: { status: 500, body: '{"error":"down"}' } },
  });
  const run = await fleet.begin({ T0_KEY: "sandbox-t9-ci" }, "rollout", "--yes").ended;
  expect(run).toMatchObject({ code: 1 });
  const report = await fleet.report();
  expect(report.state).toBe("stopped");
  expect(errors(report)).toEqual({ t0: ["plan", "ERR_AUTH"], t1: ["apply", expect.any(String)] });
  expect(states(report)).toEqual({
    t0: "failed",
    t1: "failed",
    t2: "pending",
    t3: "pending",
    t4: "pending",
    t5: "pending",
  });
  expect(written(fleet)).toEqual([]);
});

it("does only what is left when it is resumed, and tells what moved meanwhile or is refused", async () => {
  await proxy.heal();
  const run = fleet.begin({}, "rollout", "--resume");
  await run.seen((event) => event.kind === "tenant-started" && event.tenant === "t2");
  // A colleague in the console, between the plan and the tenant's turn.
  await fleet.console("t5", "POST", "/allow_deny_entries", {
    list: "allow",
    entry_type: "domain",
    value: "evil1.example",
  });
  expect(await run.ended).toMatchObject({ code: 1 });
  expect(begun(await run.ended)).toEqual(["t1", "t2", "t3", "t4", "t5"]);
  const report = await fleet.report();
  expect(errors(report)).toEqual({ t0: ["plan", "ERR_AUTH"], t5: ["apply", "ERR_PLAN_MOVED"] });
  expect(report.state).toBe("done");
  for (const name of ["t1", "t2", "t3", "t4"]) expect(fleet.holds(name)).toEqual(declared(name));
  expect(fleet.holds("t0")).toEqual([]);
  expect(fleet.holds("t5")).toEqual(["allow evil1.example"]);
  expect(report.advice.map(({ command }) => command)).toContain("email-security rollout tenants.yaml");
  fleet.take();

  // The colleague takes it back: what is left is one tenant, and the one that was never planned.
  const [{ id = "" } = {}] = fleet.sandbox.allowDenyEntries("t5");
  await fleet.console("t5", "DELETE", `/allow_deny_entries/${id}`);
  fleet.take();
  expect(begun(await fleet.rollout("--resume"))).toEqual(["t5"]);
  expect(errors(await fleet.report())).toEqual({ t0: ["plan", "ERR_AUTH"] });
  expect(written(fleet)).toEqual(["t5"]);

  // Planned anew, with the right key; and a mailbox of another organization at another tenant.
  await fleet.write("settings/t4.yaml", settingsOf("t4", "vips:\n  - nobody@elsewhere.example\n"));
  const again = await fleet.rollout("--yes");
  expect({ code: again.code, errors: errors(await fleet.report()) }).toEqual({
    code: 1,
    errors: { t4: ["apply", "ERR_NOT_IN_ORGANIZATION"] },
  });
  expect(written(fleet)).toEqual(["t0", "t4"]);
  await fleet.write("settings/t4.yaml", settingsOf("t4"));
  expect(await fleet.rollout("--yes")).toMatchObject({ code: 0 });
  for (const name of fleet.names) expect(fleet.holds(name)).toEqual(declared(name));
});

it("stops by its tolerance, and not tenant by tenant, when an address goes silent", async () => {
  const limit = { EMAIL_SECURITY_TIMEOUT_MS: "400" };
  const targets = async (failureTolerance: number): Promise<void> =>
    await fleet.targets({
      about: () => `{ baseUrl: ${proxy.url} }`,
      waves: `waves:\n  - { name: all, failureTolerance: ${failureTolerance} }\n`,
    });
  await targets(4);
  await fleet.baseline([...baselineOf(), "late.example"]);
  const run = fleet.begin(limit, "rollout", "--yes");
  await run.seen(({ kind }) => kind === "started");
  proxy.inject({ fault: { forwarded: false, told: "silence" } });
  const before = proxy.requests.length;
  expect(await run.ended).toMatchObject({ code: 1 });
  expect(begun(await run.ended)).toEqual(["t0", "t1", "t2", "t3", "t4"]);
  const report = await fleet.report();
  expect(report).toMatchObject({ state: "stopped", counts: { failed: 5, pending: 1 } });
  expect(errors(report)["t0"]).toEqual(["apply", "ERR_TIMEOUT"]);
  expect(report.tenants.at(4)?.error?.message).toMatch(/^It was not asked, and nothing of it was changed/);
  // The three lists, four times each, by the engine of the first tenant; one look by the second; nothing by the others.
  expect(proxy.requests.length - before).toBe(3 * 4 + 1);

  // The same where it is planned: the lists once for all, and a look for some.
  const planned = proxy.requests.length;
  await targets(1);
  const unplanned = await fleet.begin(limit, "rollout", "--yes").ended;
  expect(unplanned).toMatchObject({ code: 1, output: expect.stringContaining("[ERR_ROLLOUT_PLAN]") });
  expect(proxy.requests.length - planned).toBe(3 + 3);
  await proxy.heal();
  await fleet.baseline(baselineOf());
  await fleet.targets();
});

it("writes nothing at all when one tenant's guard trips", async () => {
  await fleet.write("settings/t0.yaml", settingsOf("t0", "  - more.example\n"));
  await fleet.write("settings/t3.yaml", settingsOf("t3"));
  fleet.take();
  const guarded = await fleet.rollout("--yes");
  expect(guarded).toMatchObject({ code: 3, output: expect.stringMatching(/t3[\s\S]*12 of 16/) });
  expect(guarded.events).toEqual([]);
  expect(written(fleet)).toEqual([]);
  for (const name of fleet.names) expect(fleet.holds(name)).toEqual(declared(name));
  await fleet.quiet();
});

function declared(name: string): string[] {
  const own = name === "t3" ? OWN.map((value) => `deny ${value}`) : [];
  return [...fleet.declared(name), ...own].sort();
}
