import { describe, expect, it } from "vitest";
import type { Database } from "../../../provider/rollout/database/database";
import { JOURNAL_VERSION } from "../../../provider/rollout/database/tables";
import { pruneRollout } from "../../../provider/rollout/history/prune-rollout";
import { readRolloutDetails } from "../../../provider/rollout/history/rollout-details";
import { Journal } from "../../../provider/rollout/journal/journal";
import { readLastApplied } from "../../../provider/rollout/journal/last-applied";
import { endSkips, listSkips, readActiveSkips, skipTenants } from "../../../provider/rollout/journal/tenant-skips";
import { buildRolloutLock } from "../../../provider/rollout/locks/build-rollout-lock";
import { getPlanSignatures } from "../../../provider/rollout/locks/change-signature";
import { RolloutCommands } from "../../../provider/rollout/model/rollout-commands";
import type { Wave } from "../../../provider/rollout/model/wave";
import { buildRolloutReport } from "../../../provider/rollout/report/build-rollout-report";
import { renderReportText } from "../../../provider/rollout/report/report-text";
import { FAILING_C_CHECK, SkippingFleet, STACK_OWNER } from "../../support/skip-fleet";

const WAVES = { canary: ["a", "b", "c"], rest: ["d", "e"] };
const SKIPPED = { reason: "its key is refused", by: "dana@build-7" };

/** Registers the tests of skipped tenants, for either kind of database; each test opens its own. */
export function registerSkipTests(open: () => Promise<Database>): void {
  const buildReport = async ({ journal }: SkippingFleet, id: string) =>
    await buildRolloutReport(journal, id, false, new RolloutCommands());

  describe("a skipped tenant", () => {
    it("lets the rollout that it stopped continue without it", async () => {
      await using fleet = await SkippingFleet.open(await open());
      fleet.failing.add("b");
      const id = await fleet.plan(WAVES);
      expect(await fleet.run(id)).toBe("stopped");
      expect(await fleet.readStates(id)).toEqual({
        ...{ a: "done", b: "failed", c: "pending", d: "pending", e: "pending" },
      });
      expect((await buildReport(fleet, id)).advice.map(({ command }) => command)).toContain(
        "email-security rollout skip b --reason 'the reason'",
      );
      // Without the skip, resuming retries the tenant and stops again.
      expect(await fleet.run(id)).toBe("stopped");

      expect(await fleet.skip("b")).toMatchObject({
        added: [{ name: "b", ...SKIPPED }],
        existing: [],
        rollouts: [{ rollout: id, tenant: "b", state: "skipped" }],
      });
      expect(await fleet.run(id)).toBe("done");
      expect(await fleet.readStates(id)).toEqual({ a: "done", b: "skipped", c: "done", d: "done", e: "done" });
      expect(fleet.changed).toEqual(["a", "c", "d", "e"]);
      const rolloutReport = await buildReport(fleet, id);
      expect(rolloutReport).toMatchObject({ state: "done", counts: { done: 4, failed: 0, skipped: 1 } });
      expect(rolloutReport.skipped).toEqual([
        {
          name: "b",
          stack: "b",
          skippedAt: expect.stringMatching(/^2026-11-21T03:/),
          reason: SKIPPED.reason,
          skippedBy: SKIPPED.by,
        },
      ]);
      // The report keeps the failure's reason, since the tenant may be partly changed.
      expect(rolloutReport.tenants[1]).toMatchObject({ name: "b", state: "skipped", error: { code: "ERR_PULUMI" } });
      const text = renderReportText(rolloutReport, { width: 200 });
      expect(text).toContain("DONE, 1 SKIPPED");
      expect(text).toContain("4 tenants match their files. Skipped: b.");
      expect(text).toContain("Possibly partly changed: 1 skipped.");
      expect(text).toMatch(/⊘ b, since 2026-11-21 03:\d\d UTC by dana@build-7: its key is refused/);
      expect(text).toContain("email-security rollout unskip b");
      expect(text).not.toContain("All");
      expect(fleet.events.findLast(({ kind }) => kind === "finished")).toMatchObject({ done: 4, skipped: 1 });

      // Later readers still see the skip, even after it has ended and old rollouts were pruned.
      const skipEvent = {
        kind: "tenant-skipped",
        wave: "canary",
        tenant: "b",
        actor: SKIPPED.by,
        detail: SKIPPED.reason,
      };
      const { journal } = fleet;
      expect((await readRolloutDetails(journal, rolloutReport)).milestones).toContainEqual(
        expect.objectContaining(skipEvent),
      );
      await pruneRollout(journal.database, id, Date.now());
      expect((await readRolloutDetails(journal, rolloutReport)).milestones).toContainEqual(
        expect.objectContaining(skipEvent),
      );

      // The tenant's fleet status: the newest rollout hasn't reached it.
      const { skips, stacks } = await readLastApplied(fleet.journal.database, STACK_OWNER);
      expect([...skips.keys()]).toEqual(["b"]);
      expect(stacks.get("b")).toMatchObject({ pending: { rollout: id, state: "skipped" } });
    });

    it("is excluded from its wave's health check", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan(WAVES, { health: FAILING_C_CHECK });
      expect(await fleet.run(id)).toBe("stopped");
      expect((await fleet.journal.getRollout(id)).reason).toContain("c is unwell");
      expect(await fleet.skip("c")).toMatchObject({ rollouts: [{ tenant: "c", state: "done" }] });
      expect(await fleet.run(id)).toBe("done");
      expect(await fleet.readStates(id)).toMatchObject({ c: "done", d: "done", e: "done" });
      expect((await buildReport(fleet, id)).skipped).toMatchObject([{ name: "c" }]);
      const lock = await buildRolloutLock(fleet.journal, id, "here");
      expect(lock.unreviewed.map(({ name }) => name)).toEqual(["c"]);
    });

    it("is left out immediately by a running rollout", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan({ canary: ["a", "b"], rest: ["c", "d", "e"] }, { maxConcurrent: 1 });
      fleet.failing.add("b");
      const skipResults: unknown[] = [];
      fleet.meanwhile = async (name) => {
        if (name === "b") skipResults.push((await fleet.skip("b", "d")).rollouts);
      };
      expect(await fleet.run(id)).toBe("done");
      expect(skipResults).toEqual([
        [
          { rollout: id, tenant: "b", state: "running" },
          { rollout: id, tenant: "d", state: "skipped" },
        ],
      ]);
      expect(await fleet.readStates(id)).toEqual({
        ...{ a: "done", b: "skipped", c: "done", d: "skipped", e: "done" },
      });
      expect(fleet.changed).toEqual(["a", "c", "e"]);
      const tenantEvents = fleet.events.filter((event) => "tenant" in event && event.tenant === "b");
      expect(tenantEvents.map(({ kind }) => kind)).toEqual(["tenant-started", "tenant-finished", "tenant-skipped"]);
    });

    it("is not continued for a dead process while skipped", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan({ canary: ["a"] });
      await startDead(fleet, id, "a");
      await fleet.skip("a");
      expect(await fleet.readStates(id)).toEqual({ a: "running" });
      expect(await fleet.journal.claim(buildJob(id, "a"), "host:1")).toBeUndefined();
      expect(await fleet.readStates(id)).toEqual({ a: "skipped" });
    });

    it("is included again on resume after it is unskipped", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan(WAVES, { gate: true });
      await fleet.skip("b", "e");
      expect(await fleet.run(id, { retry: false })).toBe("waiting");
      const skips = [...(await readActiveSkips(fleet.journal.database, STACK_OWNER)).values()];
      const metadata = { by: "kim@build-8", nowMs: fleet.now() };
      expect(await endSkips(fleet.journal.database, skips, metadata)).toEqual([
        { rollout: id, tenant: "b", state: "skipped" },
        { rollout: id, tenant: "e", state: "skipped" },
      ]);
      expect(await listSkips(fleet.journal.database)).toEqual([]);
      expect(await fleet.run(id, { retry: false })).toBe("done");
      expect(await fleet.readStates(id)).toEqual({ a: "done", b: "skipped", c: "done", d: "done", e: "done" });
      expect((await buildReport(fleet, id)).skipped?.map(({ name }) => name)).toEqual(["b"]);
      // The skip has ended, so the report no longer advises ending it.
      expect((await buildReport(fleet, id)).advice).toEqual([]);
      expect(await fleet.run(id)).toBe("done");
      expect(await fleet.readStates(id)).toMatchObject({ b: "done" });
      expect(await buildReport(fleet, id)).not.toHaveProperty("skipped");
      expect(fleet.changed).toEqual(["a", "c", "d", "e", "b"]);
    });

    it("is skipped in one project and state backend only", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const other = await fleet.plan({ canary: ["a", "b"] }, {}, { project: "other" });
      const elsewhere = await fleet.plan({ canary: ["a", "b"] }, {}, { backend: "elsewhere" });
      await fleet.skip("b");
      const again = await fleet.skip("b", "a");
      expect(again.added.map(({ name }) => name)).toEqual(["a"]);
      expect(again.existing.map(({ name }) => name)).toEqual(["b"]);
      for (const id of [other, elsewhere]) {
        expect(await fleet.run(id)).toBe("done");
        expect(await fleet.readStates(id)).toEqual({ a: "done", b: "done" });
        expect((await buildReport(fleet, id)).skipped).toBeUndefined();
      }
      const { skips } = await readLastApplied(fleet.journal.database, { project: "p", backend: "elsewhere" });
      expect(skips.size).toBe(0);
    });
  });

  describe("a tenant that left the targets file", () => {
    it("is not continued for a dead process after it left", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan({ canary: ["a", "b"] }, { maxConcurrent: 2 });
      await startDead(fleet, id, "a");
      await fleet.start(id, { skippedNames: ["a"] });
      expect(await fleet.readStates(id)).toMatchObject({ a: "running" });
      expect(await fleet.journal.claim(buildJob(id, "a"), "host:1")).toBeUndefined();
      expect(await fleet.readStates(id)).toMatchObject({ a: "skipped" });
      expect(fleet.changed).toEqual([]);
    });

    it("stays left out when another tenant is skipped", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan({ canary: ["a", "b"] }, { maxConcurrent: 2 });
      await startDead(fleet, id, "a");
      await fleet.start(id, { skippedNames: ["a"] });
      await fleet.skip("b");
      expect((await buildReport(fleet, id)).skipped?.map(({ name }) => name)).toEqual(["a", "b"]);
      expect(await fleet.journal.claim(buildJob(id, "a"), "host:1")).toBeUndefined();
    });

    it("is counted once after it was finished", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan(WAVES, { gate: true });
      expect(await fleet.run(id)).toBe("waiting");
      expect(await fleet.run(id, { retry: false, skippedNames: ["a"] })).toBe("done");
      const text = renderReportText(await buildReport(fleet, id), { width: 200 });
      expect(text).toContain("DONE, 1 SKIPPED");
      expect(text).toContain("4 tenants match their files. Skipped: a.");
    });

    it("is continued once it has returned", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan({ canary: ["a", "b"] }, { maxConcurrent: 2 });
      await startDead(fleet, id, "a");
      await fleet.start(id, { skippedNames: ["a"] });
      await fleet.start(id);
      expect(await buildReport(fleet, id)).not.toHaveProperty("skipped");
      expect(await fleet.journal.claim(buildJob(id, "a"), "host:1")).toBeDefined();
    });

    it("is continued for a dead process after its skip has ended", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await fleet.plan({ canary: ["a", "b"] }, { maxConcurrent: 2 });
      await startDead(fleet, id, "a");
      await fleet.skip("a");
      const skips = [...(await readActiveSkips(fleet.journal.database, STACK_OWNER)).values()];
      await endSkips(fleet.journal.database, skips, { by: "kim@build-8", nowMs: fleet.now() });
      expect(await fleet.journal.claim(buildJob(id, "a"), "host:1")).toBeDefined();
    });
  });

  describe("a tenant with the name of one that a rollback leaves out", () => {
    // The rollback leaves the former c out, and rolls back d, which is called c today.
    const skippedTenants = [{ name: "c", stack: "c", reason: 'its stack is now "d"', sinceMs: 0 }];
    const planSkippingRollout = async (fleet: SkippingFleet, wave: Partial<Wave> = {}) =>
      await fleet.plan({ canary: ["b", "c"], rest: ["e"] }, wave, { skipped: skippedTenants }, { c: "d" });

    it("doesn't hide in the report that the other was left out", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await planSkippingRollout(fleet);
      expect(await fleet.run(id)).toBe("done");
      expect(await fleet.readStates(id)).toEqual({ b: "done", c: "done", e: "done" });
      const rolloutReport = await buildReport(fleet, id);
      expect(rolloutReport.skipped).toMatchObject([{ name: "c", stack: "c" }]);
      const text = renderReportText(rolloutReport, { width: 200 });
      expect(text).toContain("3 tenants match their files. Skipped: c.");
    });

    it("is part of its wave's health check", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await planSkippingRollout(fleet, { health: FAILING_C_CHECK });
      expect(await fleet.run(id)).toBe("stopped");
      expect((await fleet.journal.getRollout(id)).reason).toContain("c is unwell");
    });

    it("counts as reviewed with its wave", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await planSkippingRollout(fleet);
      expect(await fleet.run(id)).toBe("done");
      expect((await buildRolloutLock(fleet.journal, id, "here")).unreviewed).toEqual([]);
    });

    it("is rolled back with its own changes, not those of the other", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const { journal } = fleet;
      const planJson = (key: string) => JSON.stringify({ changes: [{ kind: "entry", key, after: { list: "deny" } }] });
      const original = await fleet.plan({ canary: ["c", "d"] });
      const planned = ["c", "d"].map((name) => ({ name, state: "pending" as const, digest: name }));
      await journal.recordPlans(
        original,
        planned.map((item) => ({ ...item, plan: planJson(`${item.name}.example`) })),
      );
      const id = await fleet.plan({ canary: ["c"] }, {}, { rollsBack: original, skipped: skippedTenants }, { c: "d" });
      const lock = await buildRolloutLock(journal, id, "here");
      expect(lock.rolledBack?.changes).toEqual(getPlanSignatures(planJson("d.example")));
    });

    it("is not listed as skipped after the other was skipped", async () => {
      await using fleet = await SkippingFleet.open(await open());
      const id = await planSkippingRollout(fleet);
      expect(await fleet.run(id)).toBe("done");
      const skip = { ...{ reason: "down", by: "kim@build-8" }, nowMs: fleet.now() };
      await skipTenants(fleet.journal.database, STACK_OWNER, [{ name: "c", stack: "elsewhere" }], skip);
      expect((await buildReport(fleet, id)).advice).toEqual([]);
    });
  });

  it("names a skipped tenant as the rollout does", async () => {
    await using fleet = await SkippingFleet.open(await open());
    const id = await fleet.plan({ canary: ["acme", "b"] }, {}, {}, { acme: "a" });
    await fleet.skip("a");
    expect(await fleet.run(id)).toBe("done");
    expect((await buildReport(fleet, id)).skipped).toMatchObject([{ name: "acme", stack: "a" }]);
  });

  it("migrates a journal of an earlier release to support skips", async () => {
    const database = await open();
    await (await Journal.open(database)).database.query("DROP TABLE rollout_skips");
    await database.query("ALTER TABLE rollouts DROP COLUMN seq");
    await database.query("UPDATE rollout_journal SET version = 1");
    // Reading doesn't change the journal.
    expect((await readLastApplied(database, STACK_OWNER)).skips.size).toBe(0);
    expect(await database.query("SELECT version FROM rollout_journal")).toEqual([{ version: 1 }]);
    await using fleet = await SkippingFleet.open(database);
    expect(await database.query("SELECT version FROM rollout_journal")).toEqual([{ version: JOURNAL_VERSION }]);
    expect((await fleet.skip("a")).added.map(({ name }) => name)).toEqual(["a"]);
  });
}

const buildJob = (rollout: string, tenant: string) => ({ rollout, wave: 0, tenant, retryRound: 0 });

/** Starts the rollout and a tenant's job in a process that then dies. */
async function startDead(fleet: SkippingFleet, id: string, tenant: string): Promise<void> {
  const { journal } = fleet;
  await journal.start(id, { retry: false });
  await journal.setWaveState(id, 0, "running");
  const queue = { enqueue: async () => {}, start: () => {}, drain: async () => {} };
  await journal.dispatch(id, 0, [tenant], queue);
  expect(await journal.claim(buildJob(id, tenant), "dead:1")).toBeDefined();
}
