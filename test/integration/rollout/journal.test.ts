import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { Journal } from "../../../provider/rollout/journal/journal";
import type { RolloutSpec } from "../../../provider/rollout/journal/rollout-record";
import { STATEMENTS } from "../../bench/rollout-simulation";
import { CrashingDatabase } from "../../support/crashing-database";
import { expectConsistent, generateOperations, JournalModelTest } from "../../support/journal-model";
import { getPropertyOptions } from "../../support/matrix-sampling";
import { createTarget } from "../../support/rollout-target";

const NO_FILES = { bundle: new Map<string, Uint8Array>(), directory: "." };

const directory = mkdtempSync(join(tmpdir(), "email-security-journal-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it("matches its model after every operation and crash", async () => {
  const propertyOptions = getPropertyOptions("journal", { numRuns: 12 });
  let count = 0;
  let crashes = 0;
  await fc.assert(
    fc.asyncProperty(generateOperations(), async (all) => {
      const file = join(directory, `sequence-${count++}.sqlite`);
      const sequence = await JournalModelTest.begin(async () => await openSqlite(file), `https://${count}.example`);
      try {
        for (const operation of all) await sequence.do(operation);
        await sequence.compare();
      } finally {
        await sequence.close();
      }
      crashes += sequence.crashes;
    }),
    // Shrinking takes too long; the printed seed replays the failing run.
    { ...propertyOptions, endOnFailure: true },
  );
  if (count > 1) expect(crashes).toBeGreaterThan(count);
});

it("keeps acknowledged writes when its process is killed", async () => {
  const file = join(directory, "killed.sqlite");
  const names = Array.from({ length: 120 }, (_, index) => `tenant-${index}`);
  const journal = await Journal.open(await openSqlite(file));
  const id = await journal.create(
    createSpec(names),
    names.map((name) => createTarget(name, "https://a.example")),
  );
  await journal.recordPlans(
    id,
    names.map((name) => ({ name, state: "pending" as const, digest: "d", plan: "{}" })),
  );
  await journal.completePlanning(id, "d", NO_FILES);

  const finishedTenants = new Set<string>();
  for (let kills = 0; kills < 8; kills++) {
    await runCoordinator(file, id, finishedTenants, kills % 7);
    const states = new Map((await journal.listTenants(id)).map(({ name, state }) => [name, state]));
    for (const name of finishedTenants) expect(states.get(name), name).toBe("done");
    await expectConsistent(journal, id, names);
  }
  await runCoordinator(file, id, finishedTenants, undefined);
  expect((await journal.getRollout(id)).state).toBe("done");
  for (const { name, state } of await journal.listTenants(id)) expect(state, name).toBe("done");
  await expectConsistent(journal, id, names);
  await journal.close();
});

it("rejects the result of a superseded attempt", async () => {
  const journal = await Journal.open(await openSqlite(join(directory, "fenced.sqlite")));
  const id = await journal.create(createSpec(["acme"]), [createTarget("acme", "https://a.example")]);
  await journal.recordPlans(id, [{ name: "acme", state: "pending", digest: "d", plan: "{}" }]);
  await journal.completePlanning(id, "d", NO_FILES);
  const job = { rollout: id, wave: 0, tenant: "acme", retryRound: 0 };
  const jobs: unknown[] = [];
  const queue = {
    enqueue: async (_: unknown, enqueuedJobs: readonly unknown[]) => void jobs.push(...enqueuedJobs),
    start: () => {},
    drain: async () => {},
  };
  await journal.start(id, { retry: false });
  await journal.dispatch(id, 0, ["acme", "acme"], queue);
  await journal.dispatch(id, 0, ["acme"], queue);
  expect(jobs).toEqual([job]);

  const first = await journal.claim(job, "one:1");
  const second = await journal.claim(job, "two:2");
  if (first === undefined || second === undefined) throw new Error("The job was not claimed.");
  expect(second).toMatchObject({ attempt: 2, previousWorker: "one:1" });
  expect(await journal.isCurrent(first)).toBe(false);
  const failed = { code: "ERR_AUTH", message: "", advice: "", phase: "apply" } as const;
  expect(await journal.finish(first, failed)).toBe(false);
  expect(await journal.finish(second, undefined)).toBe(true);
  expect(await journal.finish(second, failed)).toBe(false);
  expect(await journal.claim(job, "three:3")).toBeUndefined();
  expect(await journal.listTenants(id)).toMatchObject([{ state: "done", attempt: 2, worker: "two:2" }]);
  await journal.close();
});

it("repeats a health check only when the rollout is retried", async () => {
  const journal = await Journal.open(await openSqlite(join(directory, "goes-on.sqlite")));
  const names = ["acme", "birch"];
  const id = await journal.create(
    createSpec(names),
    names.map((name) => createTarget(name, "https://a.example")),
  );
  await journal.recordPlans(
    id,
    names.map((name) => ({ name, state: "pending" as const, digest: "d", plan: "{}" })),
  );
  await journal.completePlanning(id, "d", NO_FILES);
  const listWaveStates = async () => (await journal.listWaves(id)).map(({ state, health }) => ({ state, health }));
  const readApprovalTime = async () => (await journal.listWaves(id))[0]?.approvedAtMs;
  const unhealthyResult = { isHealthy: false, message: "threats rose" };

  await journal.start(id, { retry: false });
  await journal.setWaveState(id, 0, "running");
  await journal.setWaveState(id, 0, "checking", { health: unhealthyResult });
  await journal.stop(id, "The wave first is unhealthy.");
  await journal.start(id, { retry: false });
  expect((await listWaveStates())[0]).toEqual({ state: "checking", health: unhealthyResult });
  // The wave has soaked, so only its health check runs again.
  await journal.start(id, { retry: true });
  expect((await listWaveStates())[0]).toEqual({ state: "checking", health: undefined });

  await journal.recordWaiting(id, 0, "Its gate waits.");
  await journal.start(id, { until: "first", retry: true });
  expect(await readApprovalTime()).toBeUndefined();
  // Retrying failed tenants doesn't approve the wave's health.
  await journal.start(id, { until: "second", retry: true });
  expect(await readApprovalTime()).toBeUndefined();
  await journal.start(id, { until: "first", retry: false });
  expect(await readApprovalTime()).toBeUndefined();
  await journal.start(id, { until: "second", retry: false });
  expect(await readApprovalTime()).toBeDefined();
  expect((await listWaveStates())[0]?.state).toBe("gated");

  const job = { rollout: id, wave: 0, tenant: "acme", retryRound: 0 };
  await journal.dispatch(id, 0, ["acme"], { enqueue: async () => {}, start: () => {}, drain: async () => {} });
  const claim = await journal.claim(job, "one:1");
  if (claim === undefined) throw new Error("The job was not claimed.");
  await journal.finish(claim, { code: "ERR_AUTH", message: "", advice: "", phase: "apply" });
  await journal.setWaveState(id, 0, "done", { health: { isHealthy: true, message: "" } });
  await journal.setWaveState(id, 1, "running");
  // A wave that completed with a failure runs again. The later wave keeps its state.
  await journal.start(id, { retry: true });
  expect(await readApprovalTime()).toBeUndefined();
  expect(await listWaveStates()).toEqual([
    { state: "running", health: undefined },
    { state: "running", health: undefined },
  ]);
  expect(await journal.claim(job, "late:1")).toBeUndefined();
  await journal.close();
});

it("uses as many statements as the rollout simulation counts", async () => {
  const database = new CrashingDatabase(await openSqlite(join(directory, "statements.sqlite")));
  const journal = await Journal.open(database);
  const address = "https://a.example";
  const spec: RolloutSpec = { ...createSpec(["acme"]), services: [[address, { maxConcurrent: 1 }]] };
  const id = await journal.create(spec, [createTarget("acme", address)]);
  await journal.recordPlans(id, [{ name: "acme", state: "pending", digest: "d", plan: "{}" }]);
  await journal.start(id, { retry: false });
  await journal.setWaveState(id, 0, "running");
  const countStatements = async <T>(work: () => Promise<T>): Promise<[number, T]> => {
    const before = database.statements;
    const result = await work();
    return [database.statements - before, result];
  };
  const queue = { enqueue: async () => {}, start: () => {}, drain: async () => {} };
  const [readCount] = await countStatements(async () => await journal.readRunState(id, 1));
  expect(readCount).toBe(STATEMENTS.view + 1);
  const [dispatchCount] = await countStatements(async () => await journal.dispatch(id, 0, ["acme"], queue));
  expect(dispatchCount).toBe(STATEMENTS.view + 1 + STATEMENTS.dispatch);
  const [claimCount, claim] = await countStatements(
    async () => await journal.claim({ rollout: id, wave: 0, tenant: "acme", retryRound: 0 }, "one:1"),
  );
  expect(claimCount).toBe(STATEMENTS.claim);
  if (claim === undefined) throw new Error("The job was not claimed.");
  expect((await countStatements(async () => await journal.finish(claim, undefined)))[0]).toBe(STATEMENTS.finish);
  await journal.close();
});

it("rejects a tenant that is in no wave", async () => {
  const journal = await Journal.open(await openSqlite(join(directory, "no-wave.sqlite")));
  const targets = ["acme", "left-out"].map((name) => createTarget(name, "https://a.example"));
  await expect(journal.create(createSpec(["acme"]), targets)).rejects.toThrow(`"left-out" isn't in any wave`);
  await journal.close();
});

/** A coordinator in its own process, which does the work itself and is killed after a given number of tenants. */
const COORDINATOR = `
  const [root, file, id] = process.argv.slice(1);
  const { Journal } = require(root + "/journal/journal.js");
  const { openSqlite } = require(root + "/database/sqlite-database.js");
  const { chooseNextStep } = require(root + "/model/next-step.js");
  (async () => {
    const journal = await Journal.open(await openSqlite(file));
    await journal.resetInterrupted(id);
    await journal.start(id, { retry: true });
    const enqueuedJobs = [];
    const queue = { enqueue: async (_, jobs) => { enqueuedJobs.push(...jobs); }, start() {}, drain() {} };
    const change = async (job) => {
      const claim = await journal.claim(job, "host:" + process.pid);
      if (await journal.finish(claim, undefined)) process.stdout.write(job.tenant + "\\n");
    };
    for (;;) {
      const step = chooseNextStep(await journal.readRunState(id, 8), Date.now());
      if (step.kind === "begin") await journal.setWaveState(id, step.wave, "running");
      else if (step.kind === "settle") await journal.setWaveState(id, step.wave, "done");
      else if (step.kind === "dispatch") {
        await journal.dispatch(id, step.wave, step.tenants, queue);
        await Promise.all(enqueuedJobs.splice(0).map(change));
      } else if (step.kind === "finish") {
        await journal.finishRollout(id);
        return await journal.close();
      } else throw new Error(step.kind);
    }
  })();
`;

/** @param tenants the number of tenants it reports before it is killed; undefined to let it finish. */
async function runCoordinator(
  file: string,
  id: string,
  finishedTenants: Set<string>,
  tenants: number | undefined,
): Promise<void> {
  const distDirectory = resolve("provider/dist/rollout");
  const child = spawn(process.execPath, ["--no-warnings", "-e", COORDINATOR, distDirectory, file, id], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "close");
  let count = 0;
  for await (const name of createInterface(child.stdout)) {
    finishedTenants.add(name);
    if (++count > (tenants ?? Number.POSITIVE_INFINITY)) child.kill("SIGKILL");
  }
  const [code, signal] = await exited;
  expect(signal ?? code).toBe(tenants === undefined ? 0 : "SIGKILL");
}

function createSpec(tenants: readonly string[]): RolloutSpec {
  const plain = { maxConcurrent: 6, tolerated: 0, soakMs: 0, gate: false };
  const half = Math.ceil(tenants.length / 2);
  return {
    source: "tenants.yaml",
    project: "email-security",
    today: "2026-11-21",
    waves: [
      { ...plain, name: "first", tenants: tenants.slice(0, half) },
      { ...plain, name: "second", tenants: tenants.slice(half) },
    ],
    services: [],
    backend: "file",
  };
}
