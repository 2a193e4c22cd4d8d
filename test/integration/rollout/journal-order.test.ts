import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Journal } from "../../../provider/rollout/journal/journal";
import { openPostgres } from "../../../provider/rollout/journal/postgres-database";
import { openSqlite } from "../../../provider/rollout/journal/sqlite-database";
import { targetOf } from "../../support/journal-story";
import { type Postgres, startPostgres } from "../../support/postgres";

const folder = mkdtempSync(join(tmpdir(), "email-security-journal-order-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NOON = Date.UTC(2026, 10, 26, 12);

let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
});

const DATABASES = {
  sqlite: async (name: string) => await openSqlite(join(folder, `${name}.db`)),
  postgres: async (name: string) => await openPostgres(await postgres.createDatabase(name)),
};

describe.each(["sqlite", "postgres"] as const)("a journal in %s", (dialect) => {
  it.each([
    ["two minutes", 120_000],
    ["an hour", 3_600_000],
  ])("orders rollouts as they began when the second runner's clock is %s behind", async (_name, behindMs) => {
    let now = NOON;
    const journal = await Journal.open(await DATABASES[dialect](`behind_${behindMs}`), () => now);
    try {
      const first = await applyRollout(journal);
      now = NOON - behindMs;
      const hotfix = await applyRollout(journal);

      expect((await journal.records()).map(({ id }) => id)).toEqual([hotfix, first]);
      expect((await journal.since(first)).map(({ rollout }) => rollout)).toEqual([hotfix]);
      expect(await journal.since(hotfix)).toEqual([]);
      const { startedAtMs, finishedAtMs } = await journal.record(hotfix);
      expect(finishedAtMs).toBe(startedAtMs);
    } finally {
      await journal.close();
    }
  });
});

async function applyRollout(journal: Journal): Promise<string> {
  const wave = { name: "all", tenants: ["acme"], maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false };
  const id = await journal.create(
    { source: "tenants.yaml", project: "p", today: "2026-11-26", waves: [wave], services: [], backend: "b" },
    [targetOf("acme", "https://a.example")],
  );
  await journal.planned(id, [{ name: "acme", state: "pending", digest: "d", plan: "{}", summary: SUMMARY }]);
  await journal.planningDone(id, "d", { bundle: new Map(), folder: "." });
  await journal.start(id, { retry: false });
  await journal.release(id, 0, ["acme"], { handOut: async () => {}, start: () => {} } as never);
  const claimed = await journal.begin({ rollout: id, wave: 0, tenant: "acme", round: 0 }, "runner:1");
  if (claimed === undefined) throw new Error("The tenant could not be begun.");
  await journal.finish(claimed, undefined);
  await journal.finishRollout(id);
  return id;
}

const SUMMARY = {
  planned: { added: 1, changed: 0, removed: 0 },
  changes: [],
  alarms: { danger: 0, warning: 0 },
  resource: "r",
  isStackThere: false,
};
