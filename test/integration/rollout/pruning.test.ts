import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { parsePlan } from "../../../provider/plan/render/plan-json";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { findOldRollouts } from "../../../provider/rollout/history/old-rollouts";
import { pruneRollout } from "../../../provider/rollout/history/prune-rollout";
import { readRolloutDetails } from "../../../provider/rollout/history/rollout-details";
import { readRolloutHistory } from "../../../provider/rollout/history/rollout-history";
import { Journal } from "../../../provider/rollout/journal/journal";
import { findValueChanges } from "../../../provider/rollout/journal/value-changes";
import { buildRolloutLock } from "../../../provider/rollout/locks/build-rollout-lock";
import type { RecordedChange } from "../../../provider/rollout/model/history-schema";
import { Rollouts } from "../../../provider/rollout/rollouts";
import { Crash, CrashingDatabase } from "../../support/crashing-database";
import { createAddition, writeRollout } from "../../support/rollout-fixtures";

const directory = mkdtempSync(join(tmpdir(), "email-security-pruning-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const DAY = 86_400_000;
let count = 0;
let nowMs = Date.UTC(2026, 0, 1);

async function openNewJournal(): Promise<{ readonly journal: Journal; readonly file: string }> {
  const file = join(directory, `${count++}.db`);
  const database = await openSqlite(file);
  await database.query("PRAGMA synchronous = OFF");
  return { file, journal: await Journal.open(database, () => nowMs) };
}

/** Writes the next rollout, some days later. */
async function writeNextRollout(
  journal: Journal,
  ...[writing]: Parameters<typeof writeRollout> extends [unknown, ...infer R] ? R : never
) {
  nowMs += 7 * DAY;
  return await writeRollout(journal, writing);
}

const FACTS = {
  ticket: "INC-7",
  owner: "Dana Reyes",
  approvedBy: "Victor",
  expires: "2026-12-31",
  reason: "no longer declared",
  acceptedRiskReason: "meant",
};
const MOVED: RecordedChange = {
  ...{ operation: "change", kind: "entry", key: "news.example", value: "news.example", ...FACTS },
  before: { list: "allow", comment: "was" },
  after: { list: "deny", comment: "is" },
};
const VIP: RecordedChange = {
  ...{ operation: "remove", kind: "vip", key: "ceo@acme.example", value: "ceo@acme.example" },
  before: {},
};

it("keeps the history of a pruned rollout", async () => {
  const { journal, file } = await openNewJournal();
  const tenants = {
    acme: [createAddition("evil.example", FACTS), MOVED, VIP],
    globex: [createAddition("evil.example")],
    idle: [],
  };
  const id = await writeNextRollout(journal, { tenants, failing: ["globex"], files: { "base.yaml": "version: 1\n" } });
  const back = await writeNextRollout(journal, {
    tenants: { acme: [], globex: [] },
    spec: { rollsBack: id, rollsBackTo: "each tenant's previous state" },
  });
  await journal.markRolledBack(id, `It is being rolled back by ${back}.`);
  const rollouts = await Rollouts.open({ database: file, environment: {} });
  const readState = async () => {
    const { milestones, tenants: tenantDetails } = await readRolloutDetails(journal, await rollouts.report(id));
    const { at: _at, ...lock } = await buildRolloutLock(journal, id, "here");
    const { at: _label, ...rollbackLock } = await buildRolloutLock(journal, back, "here");
    return {
      ...{ milestones, tenantDetails, lock, rollbackLock },
      brought: await findValueChanges(journal.database, "acme", "news.example"),
      waves: await journal.listWaves(id),
      report: { ...(await rollouts.report(id)), advice: [] },
    };
  };
  const before = await readState();
  expect(before.tenantDetails[0]?.changes).toEqual([createAddition("evil.example", FACTS), MOVED, VIP]);
  expect(before.rollbackLock.rolledBack?.changes).toHaveLength(3);
  expect(before.milestones.map(({ kind, actor }) => [kind, actor])).toEqual([
    ["planned", undefined],
    ["started", "dana@build-7"],
    ["wave-started", undefined],
    ["wave-finished", undefined],
    ["finished", undefined],
    ["stopped", undefined],
  ]);

  expect(await pruneRollout(journal.database, id, nowMs)).toBe(true);
  expect(await readState()).toEqual(before);
  expect(await pruneRollout(journal.database, id, nowMs)).toBe(false);
  expect((await journal.readFiles(id)).bundle.size).toBe(0);
  const events = await journal.database.query("SELECT happening FROM rollout_events WHERE rollout = $1", [id]);
  expect(events.filter(({ happening }) => String(happening).includes('"tenant-'))).toEqual([]);
  const plan = (await journal.readPlan(id, "acme")) ?? "";
  expect(() => parsePlan(plan, "acme")).toThrow("isn't a plan");
  const { rollouts: past } = await readRolloutHistory(journal, { limit: 9 }, async () => false);
  expect(past.map(({ prunedAt }) => prunedAt)).toEqual([undefined, new Date(nowMs).toISOString()]);

  const run = rollouts.run(id, {
    ...{ retry: true, onEvent: () => {} },
    ...{ stopping: new AbortController().signal, aborted: new AbortController().signal },
  });
  await expect(run).rejects.toMatchObject({
    code: "ERR_ROLLOUT_PRUNED",
    message: expect.stringContaining("was pruned"),
  });
  expect((await journal.getRollout(id)).state).toBe("rolled-back");
  await rollouts.close();
  await journal.close();
});

it("refuses to roll back a pruned rollout", async () => {
  const { journal, file } = await openNewJournal();
  const source = join(directory, "tenants.yaml");
  writeFileSync(
    source,
    `version: 1
project: p
tenants:
  acme: { baseUrl: "https://a.example", key: { environment: ACME_KEY }, settings: acme.yaml }
waves: [{ name: all }]
`,
  );
  const id = await writeNextRollout(journal, { tenants: { acme: [createAddition("evil.example")] }, spec: { source } });
  await pruneRollout(journal.database, id, nowMs);
  const rollouts = await Rollouts.open({ database: file, environment: {} });
  await expect(rollouts.planRollback(id, undefined)).rejects.toMatchObject({
    code: "ERR_ROLLBACK_UNAVAILABLE",
    message: expect.stringContaining('was pruned, and with it the previous state of "acme"'),
  });
  await rollouts.close();
  await journal.close();
});

it("keeps rollouts that are open, retryable or can be rolled back", async () => {
  const { journal } = await openNewJournal();
  const evil = [createAddition("evil.example")];
  const first = await writeNextRollout(journal, { tenants: { acme: evil, globex: evil } });
  const failed = await writeNextRollout(journal, { tenants: { hooli: evil }, failing: ["hooli"] });
  const elsewhere = await writeNextRollout(journal, { tenants: { acme: evil }, spec: { project: "other" } });
  const waiting = await writeNextRollout(journal, { tenants: { stark: evil, wayne: evil }, end: "waiting" });
  const acme = await writeNextRollout(journal, { tenants: { acme: evil } });
  const unbegun = await journal.create((await journal.getRollout(first)).spec, []);
  const cutoff = nowMs + DAY;
  const explainPruning = async () => {
    const { prunable, retainedRollouts: retained, unstartedIds: removedIds } = await findOldRollouts(journal, cutoff);
    expect(removedIds).toEqual([unbegun]);
    return [
      prunable.map(({ id }) => id),
      Object.fromEntries(retained.map(({ record, reason }) => [record.id, reason.slice(0, 20)])),
    ];
  };
  const statusText = "it can be rolled back".slice(0, 20);
  // No later rollout changed globex.
  expect(await explainPruning()).toEqual([
    [],
    {
      ...{ [acme]: statusText, [first]: statusText, [elsewhere]: statusText },
      ...{ [failed]: "a tenant that failed", [waiting]: "it is not finished" },
    },
  ]);
  const young = await writeNextRollout(journal, { tenants: { globex: evil, hooli: evil } });
  expect(await explainPruning()).toEqual([
    [failed, first],
    { [acme]: statusText, [elsewhere]: statusText, [waiting]: "it is not finished" },
  ]);
  expect((await findOldRollouts(journal, nowMs + DAY)).retainedRollouts.map(({ record }) => record.id)).toContain(
    young,
  );

  // Once the later rollout has been rolled back, the one before it is the newest again; during the rollback, the later
  // one is still needed.
  const going = await writeNextRollout(journal, {
    tenants: { acme: evil },
    spec: { rollsBack: acme },
    end: "stopped",
  });
  expect(await explainPruning()).toEqual([
    [failed],
    {
      [first]: statusText,
      [acme]: `${going} is rolling it back`.slice(0, 20),
      [elsewhere]: statusText,
      [waiting]: "it is not finished",
    },
  ]);
  await journal.finishRollout(going);
  await journal.markRolledBack(acme, "It was rolled back.");
  expect((await explainPruning())[0]).toEqual([acme, failed]);
  expect((await explainPruning())[1]).toMatchObject({ [first]: statusText });
  await journal.close();
});

it("leaves a rollout whole or pruned after a crash", async () => {
  const { journal, file } = await openNewJournal();
  const ids = [];
  for (let index = 0; index < 2; index++) {
    ids.push(await writeNextRollout(journal, { tenants: { acme: [createAddition("evil.example")], globex: [MOVED] } }));
  }
  await journal.close();
  let crashes = 0;
  for (let index = 1; crashes < 40; index++) {
    const database = new CrashingDatabase(await openSqlite(file));
    database.momentsLeft = index;
    const ended = await pruneRollout(database, ids[0] ?? "", nowMs).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Crash)) throw error;
        return false;
      },
    );
    await database.close();
    const again = await Journal.open(await openSqlite(file));
    const { prunedAtMs } = (await again.getRollout(ids[0] ?? "")).spec;
    const { bundle } = await again.readFiles(ids[0] ?? "");
    expect(bundle.size, `${index}`).toBe(prunedAtMs === undefined ? 2 : 0);
    await again.close();
    crashes += 1;
    if (ended || prunedAtMs !== undefined) break;
  }
  expect(crashes).toBeGreaterThan(5);
  expect(crashes).toBeLessThan(40);
});

it("shrinks a rollout of 300 tenants to under a fifth", async () => {
  const { journal } = await openNewJournal();
  const names = Array.from({ length: 300 }, (_, index) => `t${index}`);
  const settings = `version: 1\ndeny:\n${Array.from({ length: 500 }, (_, index) => `  - { value: e${index}-${(index * 7_919) % 10_007}.example, comment: INC-${index} }\n`).join("")}`;
  const id = await writeNextRollout(journal, {
    tenants: Object.fromEntries(
      names.map((name) => [name, [createAddition("evil.example"), createAddition(`only-${name}.example`)]]),
    ),
    files: Object.fromEntries(names.map((name) => [`${name}.yaml`, settings])),
  });
  const measureTables = async () => {
    const [row] = await journal.database.query(
      `SELECT (SELECT COUNT(*) FROM rollout_files) AS files, (SELECT COUNT(*) FROM rollout_events) AS events,
         (SELECT COUNT(*) FROM rollout_tenants) AS tenants,
         (SELECT COALESCE(SUM(LENGTH(content)), 0) FROM rollout_files) + (SELECT SUM(LENGTH(happening)) FROM rollout_events)
           + (SELECT SUM(LENGTH(target) + LENGTH(summary) + LENGTH(plan)) FROM rollout_tenants)
           + (SELECT SUM(LENGTH(spec)) FROM rollouts) AS bytes`,
    );
    return row ?? {};
  };
  const whole = await measureTables();
  expect(whole).toMatchObject({ files: 300, events: 605, tenants: 300 });
  await pruneRollout(journal.database, id, nowMs);
  const pruned = await measureTables();
  expect(pruned).toMatchObject({ files: 0, events: 5, tenants: 300 });
  expect(Number(pruned["bytes"])).toBeLessThan(300 * 1_000);
  expect(Number(pruned["bytes"])).toBeLessThan(Number(whole["bytes"]) / 5);
  await journal.close();
});
