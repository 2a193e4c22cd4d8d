import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { pruneRollout } from "../../../provider/rollout/history/prune-rollout";
import { readRecentRollouts } from "../../../provider/rollout/history/recent-rollouts";
import { Journal } from "../../../provider/rollout/journal/journal";
import type { RecordedChange } from "../../../provider/rollout/model/history-schema";
import { createAddition, writeRollout } from "../../support/rollout-fixtures";

/* The newest rollouts and their changes, read from a journal on disk. */

const directory = mkdtempSync(join(tmpdir(), "email-security-recent-"));
const OWNER = { project: "p", backend: "b" };
const MOVED: RecordedChange = {
  ...{ operation: "change", kind: "entry", key: "news.example", value: "news.example", ticket: "INC-7" },
  before: { list: "allow", comment: "was" },
  after: { list: "deny", comment: "is" },
};

let journal: Journal;
let nowMs = Date.UTC(2026, 10, 1);

beforeAll(async () => {
  journal = await Journal.open(await openSqlite(join(directory, "journal.db")), () => nowMs);
});

afterAll(async () => {
  await journal.close();
  rmSync(directory, { recursive: true, force: true });
});

it("reads each rollout with its origin, outcome and changes", async () => {
  const origin = { user: "dana", host: "build-7", revision: "3f9c01d2a7b84c55" };
  const old = await writeRollout(journal, { tenants: { acme: [MOVED] }, spec: { origin } });
  nowMs += 86_400_000;
  const tenants = { acme: [createAddition("evil.example"), MOVED], globex: [createAddition("evil.example")], idle: [] };
  const id = await writeRollout(journal, { tenants, failing: ["globex"] });
  const { rollouts, stacks, older } = await readRecentRollouts(journal.database, OWNER);
  expect(older).toBe(0);
  expect(rollouts.map(({ report }) => [report.id, report.state])).toEqual([
    [id, "done"],
    [old, "done"],
  ]);
  expect(rollouts.map((rollout) => rollout.origin)).toEqual([undefined, origin]);
  expect(rollouts[0]?.milestones.find(({ kind }) => kind === "started")?.actor).toBe("dana@build-7");
  expect(rollouts[0]?.tenants.map(({ changes }) => changes)).toEqual([
    [createAddition("evil.example"), MOVED],
    [createAddition("evil.example")],
    [],
  ]);
  expect(stacks.get("acme")?.map(({ rollout, state }) => [rollout, state])).toEqual([
    [id, "done"],
    [old, "done"],
  ]);
  expect(stacks.get("globex")).toMatchObject([
    { state: "failed", code: "ERR_AUTH", planned: { added: 1, changed: 0, removed: 0 } },
  ]);
});

it("reads the changes of a pruned rollout", async () => {
  const { rollouts: before } = await readRecentRollouts(journal.database, OWNER);
  const last = before.at(-1);
  await pruneRollout(journal.database, last?.report.id ?? "", nowMs);
  const { rollouts } = await readRecentRollouts(journal.database, OWNER);
  expect(rollouts.at(-1)).toEqual({ ...last, prunedAt: new Date(nowMs).toISOString() });
});

it("omits tickets and comments of rollouts beyond the plan limit", async () => {
  const { rollouts } = await readRecentRollouts(journal.database, OWNER, { maxPlans: 2 });
  expect(rollouts[0]?.tenants[0]?.changes[1]).toEqual(MOVED);
  expect(rollouts[1]?.tenants[0]?.changes).toEqual([
    {
      ...{ operation: "change", kind: "entry", key: "news.example", value: "news.example" },
      ...{ before: { list: "allow" }, after: { list: "deny" } },
    },
  ]);
});
