import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { openJournalDatabase } from "../../provider/rollout/database/open-database";
import { Journal } from "../../provider/rollout/journal/journal";
import type { ServiceRequest, ServiceResponse } from "../../provider/sandbox";
import { expectExample } from "../support/error-coverage";
import { Fleet, formatTenantSettings, getStates, summarizeRun } from "../support/fleet";

/*
 * Everything that a rollout waits for: a person, a healthy wave, another Pulumi run, another rollout. The tests depend
 * on their order, and use the real command and the real engine.
 */

let fleet: Fleet;
let onRequest: (request: ServiceRequest) => ServiceResponse | undefined | Promise<undefined> = () => undefined;

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 3,
    waves: `waves:
  - { name: one, limit: 1, gate: true }
  - name: two
    limit: 1
    soak: 1s
    health: { command: [./check.sh, "a word"], threats: { min: 10 } }
  - { name: three }
`,
    sandbox: { intercept: (request) => onRequest(request) },
  });
  fleet.environment["EMAIL_SECURITY_COMMANDS"] = '[./check.sh, "a word"]';
  await fleet.write("check.sh", '#!/bin/sh\nenv > seen.txt\necho "not well: $1" >&2\ntest -e well\n');
  await chmod(`${fleet.directory}/check.sh`, 0o755);
});

/** Releases delayed requests, however the test ended. */
let release = (): void => {};

afterEach(() => {
  onRequest = () => undefined;
  release();
});

/** Resolves when the service receives a matching write. That write and all later ones wait until they are released. */
async function waitForHeldWrite(isHeld: (body: { readonly value?: string }) => boolean): Promise<void> {
  const { promise: released, resolve } = Promise.withResolvers<undefined>();
  release = () => resolve(undefined);
  await new Promise<void>((done) => {
    onRequest = async ({ method, body }) => {
      if (method !== "POST" || !isHeld(body as { value?: string })) return undefined;
      done();
      return await released;
    };
  });
}

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("stops after each wave as declared", async () => {
  const first = await fleet.runRollout("--yes");
  expect(summarizeRun(first)).toEqual([2, ["t0"]]);
  expect(getStates(first.report())).toEqual({ t0: "done", t1: "pending", t2: "pending" });
  const { id } = first.report();
  // An existing journal other than the rollout's own. A missing one would be rejected.
  const elsewhere = { EMAIL_SECURITY_DATABASE: ".email-security/other.db" };
  const other = join(fleet.directory, elsewhere.EMAIL_SECURITY_DATABASE);
  await (await Journal.open(await openJournalDatabase(other))).close();
  const status = await fleet.start(elsewhere, "rollout", "status", id).result;
  expect(status.output).toContain(`The rollout ${id} of another journal`);

  // After the rollout was abandoned at the gate, a new one in the same journal, with a change to another tenant's file,
  // waits there again.
  expect(await fleet.runRollout("abandon")).toMatchObject({ code: 0 });
  await fleet.write("settings/t2.yaml", formatTenantSettings("t2", "  - mended.example\n"));
  const planned = await fleet.runRollout();
  expect(planned.output).toMatch(/one[^·]*0 to change[^·]*then[^·]*manual\s+approval/);
  expect(planned.output).toMatch(/Changes of an earlier rollout in t0 have\s+not\s+passed/);
  // The reviewed plan includes the waves, so a looser one is rejected.
  const [, digest = "none"] = /--plan-digest (r2-\w+)/.exec(planned.output) ?? [];
  await fleet.writeTargets({ waves: "waves:\n  - { name: all, maxConcurrent: 2, failureTolerance: 100% }\n" });
  const mismatchRun = await fleet.runRollout("--yes", "--plan-digest", digest);
  expect(summarizeRun(mismatchRun)).toEqual([3, []]);
  expect(mismatchRun.output).toContain("[ERR_ROLLOUT_DIGEST]");
  await fleet.writeTargets();
  expect(summarizeRun(await fleet.runRollout("--yes"))).toEqual([2, []]);

  const unhealthyRun = await fleet.runRollout("resume", "--until", "two");
  expect(summarizeRun(unhealthyRun)).toEqual([1, ["t1"]]);
  expect(unhealthyRun.report()).toMatchObject({
    state: "stopped",
    reason: expect.stringMatching(/wave two is unhealthy: "\.\/check\.sh" exited with 1: not well: a word/),
  });
  const seen = await fleet.read("seen.txt");
  expect(seen).toMatch(/^EMAIL_SECURITY_TENANTS=t1$/m);
  expect(seen).not.toMatch(/sandbox-t\d|_KEY=/);

  expect((await fleet.runRollout("--yes")).output).toMatch(/was stopped\. The wave two is unhealthy/);

  // The health command succeeds now, but the number of threats has risen.
  await fleet.write("well", "");
  // The rollout first requests the threats since the change, then those of a period twice as long, which includes the
  // time before.
  let requestCount = 0;
  onRequest = ({ path }) => {
    if (path !== "/api/v1/threats") return undefined;
    requestCount += 1;
    const pagination = { page: 1, page_size: 0, total: requestCount % 2 === 1 ? 40 : 45 };
    return { status: 200, body: { status: 200, pagination, results: { items: [] } } };
  };
  const risen = await fleet.runRollout("resume", "--until", "two");
  expect(summarizeRun(risen)).toEqual([1, []]);
  expect(risen.report().reason).toMatch(/"t1" has 40 threats in the \d+ min since its change, compared with 5/);

  onRequest = () => undefined;
  expect(summarizeRun(await fleet.runRollout("resume", "--until", "two"))).toEqual([2, []]);
  expect(summarizeRun(await fleet.runRollout("resume"))).toEqual([0, ["t2"]]);
  for (const name of ["t0", "t1"]) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
  expect(fleet.listContents("t2")).toEqual(["deny mended.example", ...fleet.listDeclaredContents("t2")].sort());
});

it("waits for a stack locked by another run", async () => {
  await fleet.writeTargets({ waves: "waves:\n  - { name: all, maxConcurrent: 2 }\n" });
  await fleet.write("settings/t2.yaml", formatTenantSettings("t2", "  - mended.example\n  - held.example\n"));
  const reached = waitForHeldWrite(({ value }) => value === "held.example");
  const person = fleet.startPulumi("t2", "up", "--yes", "--skip-preview");
  await reached;

  const impatient = await fleet.runRollout("--yes", "--only", "t2", "--lock-wait", "1");
  const owner = `pid ${person.process.pid}`;
  expect(impatient.code).toBe(1);
  const error = impatient.report().tenants.find(({ error }) => error !== undefined)?.error;
  expect(error?.message).toContain(`(${owner})`);
  expectExample("ERR_STACK_LOCKED", error ?? impatient.output);

  const patient = fleet.start({}, "rollout", "resume");
  await patient.waitForEvent((event) => event.kind === "tenant-note" && event.message.includes(owner));
  release();
  expect(await person.ended).toMatchObject({ code: 0 });
  expect(await patient.result).toMatchObject({ code: 0 });
  expect(fleet.listContents("t2")).toContain("deny held.example");
  expect(fleet.sandbox.audit("t2").filter(({ after }) => JSON.stringify(after).includes("held.example"))).toHaveLength(
    1,
  );
});

it("rejects a second rollout of the same stacks by name", async () => {
  await fleet.writeTargets({
    waves: `services:\n  ${fleet.sandbox.url}: { maxConcurrent: 1 }\nwaves:\n  - { name: all, maxConcurrent: 2 }\n`,
  });
  await fleet.writeBaseline(["evil0.example", "shared.example"]);
  const reached = waitForHeldWrite(() => true);
  const first = fleet.start({}, "rollout", "--yes", "--only", "t0", "t1");
  await reached;
  const { id } = await fleet.report();
  const same = await fleet.runRollout("--yes", "--only", "t1");
  expect(same).toMatchObject({ code: 1, output: expect.stringContaining("[ERR_ROLLOUT_BUSY]") });
  expect(same.output).toContain(id);
  expect(await fleet.runRollout("resume", id)).toMatchObject({
    code: 1,
    output: expect.stringContaining("[ERR_ROLLOUT_BUSY]"),
  });

  const other = fleet.start({}, "rollout", "--yes", "--only", "t2");
  await other.waitForEvent(({ kind }) => kind === "wave-started");
  release();
  const runs = [await first.result, await other.result];
  expect(runs.map(summarizeRun)).toEqual([
    [0, ["t0", "t1"]],
    [0, ["t2"]],
  ]);
  const turns = runs
    .flatMap(({ events }) => events)
    .filter(({ kind }) => kind === "tenant-started" || kind === "tenant-finished")
    .sort((a, b) =>
      a.occurredAt < b.occurredAt ? -1 : a.occurredAt > b.occurredAt ? 1 : a.kind === "tenant-finished" ? -1 : 1,
    )
    .map(({ kind }) => kind);
  expect(turns).toEqual(Array.from({ length: 3 }, () => ["tenant-started", "tenant-finished"]).flat());
  for (const name of fleet.names) expect(fleet.listContents(name)).toContain("deny shared.example");
  await fleet.waitForQuiet();
});

it("starts nothing in excluded hours without --any-time", async () => {
  const formatHour = (ms: number): string => new Date(ms).toISOString().slice(11, 16);
  const [from, to] = [formatHour(Date.now() - 3_600_000), formatHour(Date.now() + 7_200_000)];
  await fleet.writeTargets({ waves: `waves:\n  - { name: all, closedHours: "${from}–${to}" }\n` });
  await fleet.write("settings/t2.yaml", formatTenantSettings("t2", "  - mended.example\n  - late.example\n"));
  const paused = await fleet.runRollout("--yes", "--only", "t2");
  expect(summarizeRun(paused)).toEqual([2, []]);
  expect(paused.output).toContain(`doesn't start tenants in these hours (${from}–${to})`);
  expect(summarizeRun(await fleet.runRollout("resume"))).toEqual([2, []]);
  expect(fleet.listContents("t2")).not.toContain("deny late.example");
  expect(summarizeRun(await fleet.runRollout("resume", "--any-time"))).toEqual([0, ["t2"]]);
  expect(fleet.listContents("t2")).toContain("deny late.example");
});
