import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { ServiceRequest } from "../../provider/sandbox";
import { buildBaselineValues, Fleet, getStates, listStartedTenants, type RunningCommand } from "../support/fleet";
import { SEED, selectCases } from "../support/matrix-sampling";
import { getFleetLockDirectory, listLocks, runInEmptyDirectory, writeLock } from "../support/stack-locks";

/*
 * The coordinator is killed (SIGKILL) or asked to stop at some point in a rollout, and `rollout resume` continues it.
 * The result must be that of an undisturbed rollout: every change made once, and no process left.
 */

const TENANTS = 3;
const ENTRIES = 12;
/** The creations per tenant in one run: its own entry and those of the baseline. */
const POSTS = ENTRIES + 1;
const SOAK = 1;

let fleet: Fleet;
/** Called before each request to the service. */
let onRequest: (request: ServiceRequest) => unknown = () => {};

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: TENANTS,
    entries: ENTRIES,
    formatTenantOptions: (_name, number) => `{ labels: { ring: ${number === 0 ? "canary" : "broad"} } }`,
    waves: `waves:\n  - { name: canary, match: { ring: canary }, soak: ${SOAK}s }\n  - { name: rest, maxConcurrent: 2 }\n`,
    sandbox: {
      async intercept(request) {
        await onRequest(request);
        return undefined;
      },
    },
  });
});

afterEach(() => {
  onRequest = () => {};
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

/** Waits for the point in a run at which it is disturbed. */
type Disturbance = (run: RunningCommand) => Promise<unknown>;

const MOMENTS: Readonly<Record<string, Disturbance>> = {
  "the first tenant has begun": async (run) => await run.waitForEvent(({ kind }) => kind === "tenant-started"),
  "a list is being written": async (run) => await waitForWrites(run, 5),
  "the canary soaks": async (run) => await run.waitForEvent(({ kind }) => kind === "wave-soaking"),
  "two tenants are written to": async (run) => await waitForWrites(run, POSTS + 8),
  "one of two is through": async (run) =>
    await run.waitForEvent(
      ({ kind, ...event }) => kind === "tenant-finished" && "wave" in event && event.wave === "rest",
    ),
  "the last is being written": async (run) => await waitForWrites(run, TENANTS * POSTS - 3),
};

/** Waits until this many writes have reached the service, which is slow. */
async function waitForWrites(run: RunningCommand, count: number): Promise<void> {
  let seen = 0;
  await new Promise<void>((done) => {
    onRequest = async ({ method }) => {
      if (method === "GET") return;
      seen += 1;
      if (seen >= count) done();
      await sleep(20);
    };
    void run.result.then(() => done());
  });
}

/**
 * Waits until this many writes have reached the service. It doesn't respond to the last of them, nor to later ones,
 * until released.
 */
async function holdWrites(count: number): Promise<{ release(): void }> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let seen = 0;
  await new Promise<void>((done) => {
    onRequest = async ({ method }) => {
      if (method === "GET") return;
      seen += 1;
      if (seen < count) return;
      done();
      await released;
    };
  });
  return {
    release() {
      onRequest = () => {};
      release();
    },
  };
}

/** Each case adds entries to the baseline and removes one, so that every tenant has changes. */
let round = 0;
let baseline: readonly string[] = [];
let added: readonly string[] = [];
async function changeBaseline(): Promise<void> {
  round += 1;
  added = buildBaselineValues(ENTRIES).map((value) => `r${round}-${value}`);
  baseline = [...baseline.slice(1), ...added];
  await fleet.writeBaseline(baseline);
  fleet.takeRequests();
}

/**
 * Asserts that each tenant matches its declarations, each new entry was created once, and no creation was sent twice.
 */
function expectEachOnce(): void {
  for (const name of fleet.names) {
    expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name, baseline));
    const createdValues = fleet.sandbox
      .audit(name)
      .filter(({ action }) => action === "allow_deny_entry.create")
      .map(({ after }) => (after as { value: string }).value)
      .filter((value) => added.includes(value));
    expect(createdValues.sort()).toEqual([...added].sort());
  }
  const posts = fleet.takeRequests().filter(({ method }) => method === "POST");
  const postedEntries = posts.map(({ tenant, body }) => `${tenant} ${(body as { value: string }).value}`);
  expect([...new Set(postedEntries)].sort()).toEqual(postedEntries.sort());
}

async function expectSettled(): Promise<void> {
  await fleet.waitForQuiet();
  expectEachOnce();
  // The states are correct: another rollout finds nothing to do.
  const again = await fleet.runRollout();
  expect(again).toMatchObject({ code: 0 });
}

const STACKS = ".state/.pulumi/stacks/fleet";
const getStackLockDirectory = (name: string): string => getFleetLockDirectory(fleet, name);

it("resumes after a kill during stack creation", async () => {
  await changeBaseline();
  // A file takes the place of the stacks' directory, so that the CLI keeps retrying while it holds the lock.
  const first = new Promise<void>((done) => {
    onRequest = async () => {
      await mkdir(join(fleet.directory, ".state/.pulumi/stacks"), { recursive: true });
      await writeFile(join(fleet.directory, STACKS), "");
      onRequest = () => {};
      done();
    };
  });
  const run = fleet.start({}, "rollout", "--yes", "--only", "t0");
  await first;
  while (!existsSync(getStackLockDirectory("t0")) || readdirSync(getStackLockDirectory("t0")).length === 0) {
    if (run.process.exitCode !== null) throw new Error(`it ended without making a stack:\n${run.output()}`);
    await sleep(20);
  }
  run.process.kill("SIGKILL");
  for (const { id, command } of fleet.listProcesses()) {
    if (!command.includes("main.js")) process.kill(id, "SIGKILL");
  }
  await run.result;
  await fleet.waitForQuiet();
  await rm(join(fleet.directory, STACKS));
  expect(listLocks(getStackLockDirectory("t0"))).toHaveLength(1);
  const resumed = await fleet.runRollout("resume");
  expect(resumed).toMatchObject({ code: 0, output: expect.stringContaining("left behind by") });
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0", baseline));

  // Debris of stacks that were never created: a lock, a complete temporary file of a lock, and an empty one.
  await writeLock(getStackLockDirectory("t1"));
  await writeLock(getStackLockDirectory("t2"), { file: "a.json.18ab.tmp" });
  await writeFile(join(getStackLockDirectory("t2"), "b.json.18ab.tmp"), "");
  // Debris of an existing stack: an empty attributes file, and a lock with a process ID that now belongs to another
  // process.
  await writeFile(join(fleet.directory, STACKS, "t0.json.attrs"), "");
  await writeLock(getStackLockDirectory("t0"), { pid: process.pid });
  await changeBaseline();
  expect(await fleet.runRollout("--yes")).toMatchObject({ code: 0 });
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name, baseline));
  expect(fleet.names.map(getStackLockDirectory).flatMap(listLocks)).toEqual([]);
  // Removing the locks leaves no other stacks behind.
  const stacks = readdirSync(join(fleet.directory, STACKS)).filter((name) => name.endsWith(".json"));
  expect(stacks.sort()).toEqual(fleet.names.map((name) => `${name}.json`));
});

it("prints commands that recover truncated and locked stacks", async () => {
  await changeBaseline();
  const only = ["--yes", "--only", "t1", "--lock-wait", "1"];
  const state = join(fleet.directory, STACKS, "t1.json");
  const whole = await readFile(state);
  await writeFile(state, "");
  await writeFile(`${state}.bak`, whole);
  const unplanned = await fleet.runRollout(...only);
  expect(unplanned.output).toContain(`${state}, is truncated`);
  await runInEmptyDirectory(fleet, /`(cp [^`]+)`/.exec(unplanned.output)?.[1] ?? "");
  expect(await readFile(state)).toEqual(whole);

  await writeLock(getStackLockDirectory("t1"), { host: "runner-7", pid: 1 });
  await writeLock(getStackLockDirectory("t1"), { file: "b.json" });
  expect(await fleet.runRollout(...only)).toMatchObject({ code: 1 });
  const { id, tenants } = await fleet.report();
  const failed = tenants.find(({ name }) => name === "t1")?.error;
  expect(failed).toMatchObject({
    code: "ERR_STACK_LOCKED",
    message: expect.stringMatching(/^The stack "t1" of "t1" is locked by ci@runner-7 \(pid 1\), since \S+ and ci@/),
    advice: expect.stringContaining(`\`email-security rollout resume ${id}\``),
  });
  expect(readdirSync(getStackLockDirectory("t1")).sort()).toEqual(["a.json", "b.json"]);
  await runInEmptyDirectory(fleet, /`([^`]+ cancel [^`]+)`/.exec(failed?.message ?? "")?.[1] ?? "");
  expect(await fleet.runRollout("resume", id)).toMatchObject({ code: 0 });

  for (const { id: entry } of fleet.sandbox.allowDenyEntries("t1")) {
    await fleet.sendFromConsole("t1", "DELETE", `/allow_deny_entries/${entry}`);
  }
  const rejection = await fleet.runRollout(...only);
  const [, name = "", value] = /for this one run: (\w+)=(\w+)\./.exec(rejection.output.replace(/\s+/g, " ")) ?? [];
  expect([rejection.code, name, value]).toEqual([3, "EMAIL_SECURITY_ACCEPT_EMPTY_TENANT", "t1"]);
  expect(await fleet.start({ [name]: value }, "rollout", ...only).result).toMatchObject({ code: 0 });
  expect(fleet.listContents("t1")).toEqual(fleet.listDeclaredContents("t1", baseline));
});

it.each(selectCases("rollout-moments", Object.keys(MOMENTS), ["two tenants are written to"]))(
  "resumes after a kill when %s",
  async (moment) => {
    await changeBaseline();
    const run = fleet.start({}, "rollout", "--yes");
    await MOMENTS[moment]?.(run);
    run.process.kill("SIGKILL");
    await run.result;
    onRequest = () => {};
    const before = await fleet.report();
    expect(before).toMatchObject({ state: "running", isActive: false });

    const resumed = await fleet.runRollout("resume");
    expect(resumed).toMatchObject({ code: 0 });
    const done = before.tenants.filter(({ state }) => state === "done").map(({ name }) => name);
    expect(listStartedTenants(resumed).sort()).toEqual(fleet.names.filter((name) => !done.includes(name)));
    await expectSettled();
    const preview = await fleet.startPulumi("t0", "preview", "--refresh", "--expect-no-changes").ended;
    expect(preview).toMatchObject({ code: 0, output: expect.not.stringContaining("pending operations") });
  },
);

const VICTIMS: Readonly<Record<string, RegExp>> = {
  "the coordinator": /commands\/main\.js/,
  "an engine": /pulumi .*\bup\b/,
  "a process that runs engines": /engine-process\.js/,
  "a provider": /cmd\/dynamic-provider/,
};

/** The approximate number of requests of a run. */
const REQUESTS = TENANTS * (POSTS + 9);
/** The number of requests after which the first tenant has started, so that there are processes to kill. */
const FIRST = 12;
const kills = Object.keys(VICTIMS).flatMap((victim) =>
  Array.from({ length: REQUESTS - FIRST }, (_, number) => ({ victim, at: FIRST + number })),
);
const drawn = createHash("sha256").update(`${SEED} 0`).digest().readUInt32BE(4) % (REQUESTS - FIRST);

it.each(selectCases("rollout-kills", kills, [{ victim: "an engine", at: FIRST + drawn }]))(
  `$victim is killed at request $at (EMAIL_SECURITY_TEST_SEED=${SEED})`,
  async ({ victim, at }) => {
    await changeBaseline();
    let seen = 0;
    let killed = "";
    onRequest = async () => {
      seen += 1;
      // Between two tenants, the victim doesn't exist.
      if (seen < at || killed !== "") return;
      const victimProcess = fleet.listProcesses().find(({ command }) => VICTIMS[victim]?.test(command));
      if (victimProcess === undefined) return;
      killed = victimProcess.command;
      process.kill(victimProcess.id, "SIGKILL");
      await sleep(50);
    };
    const run = await fleet.start({}, "rollout", "--yes").result;
    onRequest = () => {};
    expect({ killed, output: run.output }).toMatchObject({
      killed: expect.stringMatching(VICTIMS[victim] ?? ""),
    });
    const { state, counts } = await fleet.report();
    // If another process than the coordinator is killed, the coordinator retries the tenant once.
    if (victim !== "the coordinator") {
      expect({ state, failed: counts.failed, output: run.output }).toMatchObject({
        state: "done",
        failed: 0,
      });
      const notes = run.events.flatMap((event) => (event.kind === "tenant-note" ? [event.message] : []));
      expect(notes.filter((note) => note.endsWith("Retried once."))).toHaveLength(1);
    }
    const isLeft = state !== "done" || counts.failed > 0;
    if (isLeft) {
      const resumed = await fleet.runRollout("resume");
      expect({ code: resumed.code, output: `${run.output}${resumed.output}` }).toMatchObject({ code: 0 });
    }
    await expectSettled();
  },
);

it("leaves nothing to resume when killed while planning", async () => {
  await changeBaseline();
  const run = fleet.start({}, "rollout", "--yes");
  await new Promise<void>((done) => {
    onRequest = () => done();
  });
  run.process.kill("SIGKILL");
  await run.result;
  await fleet.waitForQuiet();
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);
  const resumed = await fleet.runRollout("resume");
  expect(resumed).toMatchObject({ code: 1, output: expect.stringContaining("[ERR_ROLLOUT_NOT_FOUND]") });
});

it("finishes running work on Ctrl-C", async () => {
  await changeBaseline();
  const planning = fleet.start({}, "rollout", "--yes");
  await new Promise<void>((done) => {
    onRequest = () => done();
  });
  interruptGroup(planning);
  expect(await planning.result).toMatchObject({
    code: 1,
    output: expect.stringContaining("Nothing was changed"),
  });
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);

  const run = fleet.start({}, "rollout", "--yes");
  await MOMENTS["a list is being written"]?.(run);
  interruptGroup(run);
  const stopped = await run.result;
  expect(stopped).toMatchObject({ code: 2 });
  const report = stopped.report();
  const { id, advice } = report;
  expect(advice[0]?.command).toBe(`email-security rollout resume ${id}`);
  await fleet.waitForQuiet();
  expect(getStates(report)).toEqual({ t0: "done", t1: "pending", t2: "pending" });
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0", baseline));

  // Its request timeout is longer than the test waits for its exit.
  const goesOn = fleet.start({ EMAIL_SECURITY_TIMEOUT_MS: "600000" }, "rollout", "resume");
  const writeHold = await holdWrites(8);
  goesOn.process.kill("SIGINT");
  await goesOn.waitForOutput("to stop immediately");
  goesOn.process.kill("SIGINT");
  expect(await goesOn.result).toMatchObject({ code: 2 });
  // The second Ctrl-C didn't wait for the requests in flight.
  await fleet.waitForQuiet();
  expect(await fleet.report()).toMatchObject({ state: "running", isActive: false });
  writeHold.release();

  expect(await fleet.runRollout("resume")).toMatchObject({ code: 0 });
  await expectSettled();
});

/** Sends SIGINT to the whole process group, as Ctrl-C in a terminal does. */
function interruptGroup({ process: { pid = 0 } }: RunningCommand): void {
  process.kill(-pid, "SIGINT");
}
