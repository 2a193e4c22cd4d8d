import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { omitUndefined } from "../../../provider/model/omit-undefined";
import { openPostgres } from "../../../provider/rollout/database/postgres-database";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { JOURNAL_VERSION } from "../../../provider/rollout/database/tables";
import { readRecentRollouts } from "../../../provider/rollout/history/recent-rollouts";
import { Journal } from "../../../provider/rollout/journal/journal";
import { readLastApplied } from "../../../provider/rollout/journal/last-applied";
import { findValueChanges } from "../../../provider/rollout/journal/value-changes";
import { type Postgres, startPostgres } from "../../support/postgres";
import { createTarget } from "../../support/rollout-target";

const directory = mkdtempSync(join(tmpdir(), "email-security-journal-order-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const NOON = Date.UTC(2026, 10, 26, 12);

let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
});

const DATABASES = {
  sqlite: async (name: string) => await openSqlite(join(directory, `${name}.db`)),
  postgres: async (name: string) => await openPostgres(await postgres.createDatabase(name)),
};

describe.each(["sqlite", "postgres"] as const)("a journal in %s", (dialect) => {
  it.each([
    ["two minutes", 120_000],
    ["an hour", 3_600_000],
  ])("orders rollouts by start when the second runner's clock is %s behind", async (_name, behindMs) => {
    let now = NOON;
    const journal = await Journal.open(await DATABASES[dialect](`behind_${behindMs}`), () => now);
    try {
      const first = await applyRollout(journal);
      now = NOON - behindMs;
      const hotfix = await applyRollout(journal);

      expect((await journal.listRollouts()).map(({ id }) => id)).toEqual([hotfix, first]);
      expect((await journal.listLaterChanges(first)).map(({ rollout }) => rollout)).toEqual([hotfix]);
      expect(await journal.listLaterChanges(hotfix)).toEqual([]);
      const { startedAtMs, finishedAtMs } = await journal.getRollout(hotfix);
      expect(finishedAtMs).toBe(startedAtMs);
    } finally {
      await journal.close();
    }
  });

  it("orders rollouts of an earlier release before all others", async () => {
    let now = NOON;
    const database = await DATABASES[dialect]("earlier_release");
    const journal = await Journal.open(database, () => now);
    try {
      const ids: string[] = [];
      for (let count = 0; count < 3; count += 1) {
        now += 60_000;
        ids.push(await applyRollout(journal));
      }
      const [first = "", second = "", third = ""] = ids;
      // Two machines started these in the same millisecond, and the first rollout was planned last.
      await database.query("UPDATE rollouts SET started_at = $1 WHERE id IN ($2, $3)", [now, second, third]);
      await database.query("UPDATE rollouts SET created_at = $1 WHERE id = $2", [now + 1, first]);
      await database.query("ALTER TABLE rollouts DROP COLUMN seq");
      await database.query("UPDATE rollout_journal SET version = 2");
      const newest = [second, third].sort().at(-1);

      // Reading doesn't migrate the journal.
      const reached = await readLastApplied(database, { project: "p", backend: "b", stacks: ["acme"] });
      expect(reached.stacks.get("acme")?.applied?.rollout).toBe(newest);
      expect(await findValueChanges(database, "acme", "evil.example")).toEqual([]);
      expect((await readRecentRollouts(database, { project: "p" })).rollouts[0]?.report.id).toBe(newest);
      expect(await database.query("SELECT version FROM rollout_journal")).toEqual([{ version: 2 }]);

      const migrated = await Journal.open(database, () => now);
      expect(await database.query("SELECT version FROM rollout_journal")).toEqual([{ version: JOURNAL_VERSION }]);
      expect(await readSequences(migrated)).toEqual({
        [first]: undefined,
        [second]: undefined,
        [third]: undefined,
      });
      expect((await migrated.listLaterChanges(first)).map(({ rollout }) => rollout)).toEqual([second, third].sort());
      expect((await migrated.listRollouts())[0]?.id).toBe(newest);
      // The order of these two is unknown, so neither can be rolled back past the other.
      expect((await migrated.listLaterChanges(second)).map(({ rollout }) => rollout)).toEqual([third]);
      expect((await migrated.listLaterChanges(third)).map(({ rollout }) => rollout)).toEqual([second]);

      now -= 3_600_000;
      const next = await applyRollout(migrated);
      expect((await migrated.getRollout(next)).seq).toBe(1);
      expect((await migrated.listRollouts())[0]?.id).toBe(next);
      expect((await migrated.listLaterChanges(second)).map(({ rollout }) => rollout)).toEqual([third, next]);
      expect(await migrated.listLaterChanges(next)).toEqual([]);
    } finally {
      await journal.close();
    }
  });

  it("assigns a sequence number above those of other journals", async () => {
    const journal = await Journal.open(await DATABASES[dialect]("other_journals"), () => NOON);
    try {
      const first = await applyRollout(journal, 8);
      const second = await applyRollout(journal, 3);
      expect(await readSequences(journal)).toEqual({ [first]: 8, [second]: 9 });
      await journal.start(first, { retry: true, seq: 40 });
      expect((await journal.getRollout(first)).seq).toBe(8);
    } finally {
      await journal.close();
    }
  });
});

async function readSequences(journal: Journal): Promise<Record<string, number | undefined>> {
  return Object.fromEntries((await journal.listRollouts()).map(({ id, seq }) => [id, seq]));
}

async function applyRollout(journal: Journal, seq?: number): Promise<string> {
  const wave = { name: "all", tenants: ["acme"], maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false };
  const id = await journal.create(
    { source: "tenants.yaml", project: "p", today: "2026-11-26", waves: [wave], services: [], backend: "b" },
    [createTarget("acme", "https://a.example")],
  );
  await journal.recordPlans(id, [{ name: "acme", state: "pending", digest: "d", plan: "{}", summary: SUMMARY }]);
  await journal.completePlanning(id, "d", { bundle: new Map(), directory: "." });
  await journal.start(id, { retry: false, ...omitUndefined({ seq }) });
  await journal.dispatch(id, 0, ["acme"], { enqueue: async () => {}, start: () => {} } as never);
  const claimed = await journal.claim({ rollout: id, wave: 0, tenant: "acme", retryRound: 0 }, "runner:1");
  if (claimed === undefined) throw new Error("The tenant could not be begun.");
  await journal.finish(claimed, undefined);
  await journal.finishRollout(id);
  return id;
}

const SUMMARY = {
  planned: { added: 1, changed: 0, removed: 0 },
  changes: [],
  severities: { danger: 0, warning: 0 },
  resource: "r",
  isStackThere: false,
};
