import { describe, expect, it } from "vitest";
import { startPostgres } from "../../support/postgres";
import { RolloutWorker } from "../../support/rollout-worker";
import { computePeak, listUnfinishedTenants, startRollout } from "./workers";

describe("a distributed rollout", () => {
  it("applies each tenant once despite a killed worker and database restart", async () => {
    await using postgres = await startPostgres();
    await using rollout = await startRollout(
      postgres,
      "one",
      [
        [6, 2],
        [24, 5],
      ],
      6,
    );
    await using other = await startRollout(postgres, "other", [[20, 4]], 6);
    const ended = [rollout.waitForEnd(), other.waitForEnd()];
    const createWorker = (name: string) => new RolloutWorker({ url: postgres.url, name, concurrency: 3, jobMs: 250 });
    await using first = createWorker("first");
    await using second = createWorker("second");
    await using _third = createWorker("third");

    await first.waitForEvent("finished", 3);
    await first.waitForEvent("began", 4);
    first.sendSignal("SIGKILL");
    await first.waitForExit();
    const orphans = listUnfinishedTenants(first.events);
    expect(orphans.length).toBeGreaterThan(0);
    await second.waitForEvent("finished", 5);
    await postgres.restart("crash");
    expect(await Promise.all(ended)).toEqual(["done", "done"]);

    const tenants = [
      ...(await rollout.journal.listTenants(rollout.id)),
      ...(await other.journal.listTenants(other.id)),
    ];
    expect(tenants.map(({ state }) => state)).toEqual(Array(50).fill("done"));
    // Orphaned jobs were reassigned once; no other job was started twice.
    const more = tenants.filter(({ attempt }) => attempt !== 1);
    expect(Object.fromEntries(more.map(({ name, attempt }) => [name, attempt]))).toEqual(
      Object.fromEntries(orphans.map((name) => [name, 2])),
    );
    const events = [...rollout.events, ...other.events];
    for (const name of orphans) {
      const [began = 0, again = 0] = events
        .filter((event) => event.kind === "tenant-started" && event.tenant === name)
        .map(({ occurredAt }) => Date.parse(occurredAt));
      // Not before the lease expires, and well within a minute, which is the queue's own polling interval.
      expect(again - began).toBeGreaterThan(8_000);
      expect(again - began).toBeLessThan(40_000);
    }
    // The limits hold, and both rollouts together use more of the shared service limit than either did alone.
    expect(computePeak(rollout.events, "wave 0")).toBeLessThanOrEqual(2);
    expect(computePeak(rollout.events, "wave 1")).toBeLessThanOrEqual(5);
    expect(computePeak(other.events, "wave 0")).toBeLessThanOrEqual(4);
    expect(computePeak(events)).toBeLessThanOrEqual(6);
    expect(computePeak(events)).toBeGreaterThan(2);
    expect(second.events).toContainEqual({
      at: expect.any(Number),
      kind: "log",
      line: expect.stringMatching(/^PostgreSQL at .* Waiting for it\.$/),
    });
    expect(second.events).toContainEqual({
      at: expect.any(Number),
      kind: "log",
      line: expect.stringMatching(/is available again\.$/),
    });
  });
});
