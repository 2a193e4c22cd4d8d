import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../../provider/rollout/database/database";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { readRecentRollouts } from "../../../provider/rollout/history/recent-rollouts";
import { readLastApplied } from "../../../provider/rollout/journal/last-applied";
import { type Postgres, startPostgres } from "../../support/postgres";
import { openFleetJournal } from "../../support/rollout-fixtures";

let postgres: Postgres;
const directory = mkdtempSync(join(tmpdir(), "email-security-reached-"));

beforeAll(async () => {
  postgres = await startPostgres();
});

afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const DATABASES: Readonly<Record<string, () => Promise<Database>>> = {
  PostgreSQL: async () => await openPostgres(postgres.url),
  SQLite: async () => await openSqlite(join(directory, "reached.db")),
};

describe.each(Object.entries(DATABASES))("the last applied rollout of a stack in %s", (_, open) => {
  it("is the newest one of its project and backend", async () => {
    const database = await open();
    await using journal = await openFleetJournal(database, "b");
    const files = new Map([["settings/t0.yaml", Buffer.from("version: 1\n")]]);
    await journal.rollout(files, { t0: "unchanged", t1: "pending", t2: "unchanged" });
    const second = await journal.rollout(files, { t0: "unchanged", t1: "unchanged" });
    await journal.rollout(files, { t3: "pending" });
    const last = await journal.rollout(files, { t1: "pending", t3: "pending" });
    await journal.rollout(files, { t0: "pending" }, "another project");

    const { stacks, otherBackendCount, readFiles } = await readLastApplied(database, { project: "p", backend: "b" });
    const summary = [...stacks].map(([stack, { applied: a, pending: b }]) => [stack, a?.rollout, b?.rollout]).sort();
    expect(summary).toEqual([
      ["t0", second, undefined],
      ["t1", second, last],
      ["t2", expect.any(String), undefined],
      ["t3", undefined, last],
    ]);
    expect(stacks.get("t1")).toMatchObject({
      applied: { state: "unchanged", wave: "all", today: "2026-11-11", atMs: Date.UTC(2026, 10, 11, 9) },
      pending: { state: "pending", wave: "all", rolloutState: "running" },
    });
    expect(otherBackendCount).toBe(0);
    expect([...(await readFiles(second)).bundle.keys()]).toEqual(["settings/t0.yaml"]);

    expect(await readLastApplied(database, { project: "p", backend: "another" })).toMatchObject({
      stacks: new Map(),
      otherBackendCount: 4,
    });
    expect((await readLastApplied(database, { project: "p" })).stacks.size).toBe(4);

    const whole = await readRecentRollouts(database, { project: "p", backend: "b" });
    expect(whole.rollouts.map(({ report }) => report.id).slice(0, 1)).toEqual([last]);
    expect(whole).toMatchObject({
      older: 0,
      rollouts: Array.from({ length: 4 }, () => ({ report: { state: "running", isActive: false } })),
    });
    expect(whole.rollouts[2]?.report).toMatchObject({
      id: second,
      startedAt: "2026-11-11T09:00:00.000Z",
      waves: [{ name: "all", state: "pending", counts: { unchanged: 2, pending: 0, failed: 0 } }],
    });
    expect(whole.stacks.get("t1")?.map(({ rollout, state }) => [rollout, state])).toEqual([
      [last, "pending"],
      [second, "unchanged"],
      [expect.any(String), "pending"],
    ]);
    // The newest rollout, and the number left out.
    const { rollouts, older } = await readRecentRollouts(database, { project: "p" }, { maxRollouts: 1 });
    expect([rollouts.map(({ report }) => report.id), older]).toEqual([[last], 3]);
  });

  it("is searched for in older rollouts only when needed", async () => {
    const opened = await open();
    const looks: string[] = [];
    const database: Database = {
      dialect: opened.dialect,
      query: async (sql, parameters) => {
        if (sql.includes("ROW_NUMBER")) looks.push(/t\.rollout (?:NOT )?IN/.exec(sql)?.[0] ?? "all");
        return await opened.query(sql, parameters);
      },
      transaction: async (work) => await opened.transaction(work),
      lock: async (name, lost) => await opened.lock(name, lost),
      isLocked: async (name) => await opened.isLocked(name),
      shortenBusyTimeout: (ms) => opened.shortenBusyTimeout(ms),
      close: async () => await opened.close(),
    };
    await using journal = await openFleetJournal(database, "c");
    const none = new Map<string, Uint8Array>();
    const scope = { project: "years", backend: "c" };
    await journal.rollout(none, { t0: "unchanged" }, "another of the same database");
    await journal.rollout(none, { t0: "unchanged", t1: "unchanged", rare: "unchanged" }, "years");
    for (let night = 0; night < 9; night++) {
      await journal.rollout(none, { t0: "unchanged", t1: night < 8 ? "unchanged" : "pending", t2: "pending" }, "years");
    }
    const { stacks: all } = await readLastApplied(database, scope);
    const captureConditions = async (...stacks: string[]): Promise<unknown[]> => {
      looks.length = 0;
      const { stacks: some } = await readLastApplied(database, { ...scope, stacks });
      for (const stack of stacks) expect(some.get(stack)).toEqual(all.get(stack));
      return [...looks];
    };
    expect(all.get("t1")).toMatchObject({ applied: { state: "unchanged" }, pending: { state: "pending" } });
    expect(await captureConditions("t0", "t1")).toEqual(["t.rollout IN"]);
    expect(await captureConditions()).toEqual(["t.rollout IN"]);
    // The first stack is in none of these rollouts; the second is in no rollout at all.
    expect(await captureConditions("t0", "rare")).toEqual(["t.rollout IN", "t.rollout NOT IN"]);
    expect(await captureConditions("t2")).toEqual(["t.rollout IN", "t.rollout NOT IN"]);
    expect(await captureConditions("new")).toEqual(["t.rollout IN", "t.rollout NOT IN"]);
  });
});
