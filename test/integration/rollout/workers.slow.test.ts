import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import type { Job } from "../../../provider/rollout/queue/job-queue";
import { openPgBossQueue } from "../../../provider/rollout/queue/pg-boss-queue";
import { runPgBossWorker } from "../../../provider/rollout/queue/pg-boss-worker";
import { getMonotonicMs } from "../../support/monotonic-time";
import { startPostgres } from "../../support/postgres";
import { RolloutWorker } from "../../support/rollout-worker";
import { makeCutOffHost } from "./isolated-host";
import { startRollout } from "./workers";

describe.concurrent("a worker of a distributed rollout", () => {
  it("loses its job when it stalls past the lease", async () => {
    await using postgres = await startPostgres();
    await using rollout = await startRollout(postgres, "one", [[1, 1]]);
    const ended = rollout.waitForEnd();
    const createHourLongWorker = (name: string) =>
      new RolloutWorker({ url: postgres.url, name, concurrency: 1, jobMs: 3_600_000 });
    await using still = createHourLongWorker("still");
    await still.waitForEvent("began");
    await using quick = createHourLongWorker("quick");
    await quick.waitForEvent("ready");
    still.sendSignal("SIGSTOP");
    await quick.waitForEvent("began");
    still.sendSignal("SIGCONT");
    expect(await still.waitForEvent("lost")).toMatchObject({
      tenant: "one-0-0",
      attempt: 1,
      reason: expect.stringContaining("The lease is lost"),
    });
    await still.waitForEvent("too late");
    quick.sendCommand("end jobs");
    expect(await ended).toBe("done");
    expect(await rollout.journal.listTenants(rollout.id)).toMatchObject([
      { state: "done", attempt: 2, worker: "quick" },
    ]);
    expect(quick.events.map(({ kind }) => kind)).not.toContain("lost");
  });

  it("gives up its jobs when the database stays silent", async () => {
    await using postgres = await startPostgres();
    await using rollout = await startRollout(postgres, "one", [[1, 1]]);
    const ended = rollout.waitForEnd();
    await using worker = new RolloutWorker({
      url: postgres.url,
      name: "only",
      concurrency: 1,
      jobMs: 3_600_000,
    });
    await worker.waitForEvent("began");
    await postgres.stop();
    expect(await worker.waitForEvent("lost")).toMatchObject({
      reason: expect.stringContaining("not respond in time"),
    });
    await postgres.start();
    // The worker's own late result counts, since no other worker has started the tenant.
    await worker.waitForEvent("finished");
    expect(await ended).toBe("done");
  });
});

describe.concurrent("a host cut off from the database", () => {
  it("gives up its jobs before another host gets them", async ({ skip }) => {
    await using host = makeDisposable(await makeCutOffHost());
    if (typeof host.it === "string") return skip(host.it);
    const { address, inside, cut } = host.it;
    await using postgres = await startPostgres({ listen: [address] });
    await using rollout = await startRollout(postgres, "one", [[1, 1]]);
    const ended = rollout.waitForEnd();
    const settings = {
      name: "far",
      url: postgres.getUrl(address),
      concurrency: 1,
      jobMs: 3_600_000,
      lockName: "the rollout",
    };
    await using far = new RolloutWorker(settings, inside);
    await far.waitForEvent("held");
    await far.waitForEvent("began");
    expect(await rollout.journal.database.lock("the rollout", () => {})).toBeUndefined();
    await cut();

    await using near = new RolloutWorker({ name: "near", url: postgres.url, concurrency: 1, jobMs: 0 });
    while ((await rollout.journal.database.lock("the rollout", () => {})) === undefined) await sleep(100);
    const heldAt = getMonotonicMs();
    const began = await near.waitForEvent("began");
    const holdLost = await far.waitForEvent("hold lost");
    expect(holdLost).toMatchObject({ reason: expect.stringContaining("not respond for ten seconds") });
    expect(holdLost.at).toBeLessThanOrEqual(heldAt);
    expect((await far.waitForEvent("lost")).at).toBeLessThanOrEqual(began.at);
    expect(await ended).toBe("done");
    expect(await rollout.journal.listTenants(rollout.id)).toMatchObject([
      { state: "done", attempt: 2, worker: "near" },
    ]);
  });
});

/** Wraps a value that may be missing (then the reason as a string) so that it can be disposed. */
function makeDisposable<T extends AsyncDisposable>(it: T | string): { readonly it: T | string } & AsyncDisposable {
  return {
    it,
    [Symbol.asyncDispose]: async () => (typeof it === "string" ? undefined : await it[Symbol.asyncDispose]()),
  };
}

describe.concurrent("the job queue", () => {
  it("hands over unfinished jobs on abort", async () => {
    await using postgres = await startPostgres();
    await using rollout = await startRollout(postgres, "one", [[4, 2]]);
    const ended = rollout.waitForEnd();
    const createTwoJobWorker = (name: string) =>
      new RolloutWorker({ url: postgres.url, name, concurrency: 2, jobMs: 3_600_000 });
    await using polite = createTwoJobWorker("polite");
    await polite.waitForEvent("began", 2);
    polite.sendCommand("stop");
    await sleep(300);
    polite.sendCommand("end jobs");
    await polite.waitForExit();
    expect(polite.events.map(({ kind }) => kind)).toEqual(["ready", "began", "began", "finished", "finished"]);

    await using hasty = createTwoJobWorker("hasty");
    await hasty.waitForEvent("began", 2);
    await using heir = createTwoJobWorker("heir");
    await heir.waitForEvent("ready");
    hasty.sendCommand("abort");
    await heir.waitForEvent("began", 2);
    await hasty.waitForExit();
    heir.sendCommand("end jobs");
    expect(await ended).toBe("done");
    const workers = (await rollout.journal.listTenants(rollout.id)).map(({ attempt, worker }) => [attempt, worker]);
    expect(workers).toEqual([
      [1, "polite"],
      [1, "polite"],
      [2, "heir"],
      [2, "heir"],
    ]);
  });

  it("runs each enqueued job once per round", async () => {
    await using postgres = await startPostgres();
    const database = await openPostgres(postgres.url);
    const queue = await openPgBossQueue(postgres.url, { log: () => {} });
    const buildJob = (tenant: string, retryRound = 0): Job => ({ rollout: "r", wave: 0, tenant, retryRound });
    const handOut = (...jobs: Job[]) => database.transaction((inside) => queue.enqueue(inside, jobs));

    await handOut(buildJob("a"), buildJob("b"));
    await handOut(buildJob("b"), buildJob("c"));
    await expect(
      database.transaction(async (inside) => {
        await queue.enqueue(inside, [buildJob("never")]);
        throw new Error("taken back");
      }),
    ).rejects.toThrow("taken back");

    const done: string[] = [];
    const log: string[] = [];
    const stopping = new AbortController();
    const working = runPgBossWorker(
      postgres.url,
      async ({ tenant, retryRound }) => {
        done.push(`${tenant}${retryRound}`);
        if (tenant === "broken" && done.filter((candidate) => candidate === "broken0").length === 1)
          throw new Error("no journal");
      },
      {
        concurrency: 1,
        stopping: stopping.signal,
        aborted: new AbortController().signal,
        log: (line) => log.push(line),
      },
    );
    const waitUntilDone = async (count: number) => {
      while (done.length < count) await sleep(20);
    };
    await waitUntilDone(3);
    expect([...done].sort()).toEqual(["a0", "b0", "c0"]);
    // The job finished and its tenant is queued again, as when somebody has completed it by hand.
    await sleep(200);
    await handOut(buildJob("a"));
    await handOut(buildJob("b", 1));
    await waitUntilDone(5);
    expect(done.slice(3)).toEqual(["a0", "b1"]);
    // A job that could be neither run nor recorded is retried later.
    await handOut(buildJob("broken"));
    await waitUntilDone(7);
    expect(log).toEqual(['"broken" could not be processed: no journal']);
    stopping.abort();
    await working;
    await queue.drain();
    await database.close();
  });
});
