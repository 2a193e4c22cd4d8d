import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { findOldRollouts } from "../../../provider/rollout/history/old-rollouts";
import { pruneRollout } from "../../../provider/rollout/history/prune-rollout";
import { readRolloutDetails } from "../../../provider/rollout/history/rollout-details";
import { buildRolloutDifference } from "../../../provider/rollout/history/rollout-difference";
import { readRolloutHistory } from "../../../provider/rollout/history/rollout-history";
import { Journal } from "../../../provider/rollout/journal/journal";
import { findValueChanges } from "../../../provider/rollout/journal/value-changes";
import { RolloutCommands } from "../../../provider/rollout/model/rollout-commands";
import { buildRolloutReport } from "../../../provider/rollout/report/build-rollout-report";
import { createCli } from "../../support/cli";
import { type Postgres, startPostgres } from "../../support/postgres";
import { createAddition, writeRollout } from "../../support/rollout-fixtures";
import { runEnvironment } from "../../support/run-environment";

const directory = mkdtempSync(join(tmpdir(), "email-security-keeping-"));
let postgres: Postgres;
let nowMs = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;

beforeAll(async () => {
  postgres = await startPostgres();
});

afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function openJournal(place: string): Promise<Journal> {
  return await Journal.open(await openJournalDatabase(place), () => nowMs);
}

/**
 * Writes three rollouts: one that is done and was followed by another, one that can be rolled back, and one that is
 * waiting.
 */
async function writeRollouts(journal: Journal): Promise<readonly [string, string, string]> {
  const ids: string[] = [];
  for (const item of [
    {
      tenants: {
        acme: [createAddition("evil.example", { ticket: "INC-7" })],
        globex: [createAddition("evil.example")],
      },
    },
    {
      tenants: {
        acme: [createAddition("b.example")],
        globex: [createAddition("b.example")],
        Ärger: [createAddition("b.example")],
      },
    },
    { tenants: { hooli: [createAddition("c.example")] }, end: "waiting" },
  ] as const) {
    nowMs += DAY;
    ids.push(await writeRollout(journal, item));
  }
  return ids as unknown as readonly [string, string, string];
}

/** The history that commands show, except when a rollout was pruned. */
async function readShownHistory(journal: Journal, ids: readonly string[]): Promise<unknown> {
  const views = {
    history: await readRolloutHistory(journal, { limit: 9 }, async () => false),
    rollouts: await Promise.all(
      ids.map(async (id) => {
        const report = await buildRolloutReport(journal, id, false, new RolloutCommands());
        return await readRolloutDetails(journal, report);
      }),
    ),
    difference: await buildRolloutDifference(journal, ids[1] ?? "", ids[2] ?? ""),
    brought: await findValueChanges(journal.database, "acme", "evil.example"),
  };
  return JSON.parse(JSON.stringify(views, (key, value) => (key === "prunedAt" ? undefined : value)));
}

it.each(["PostgreSQL", "SQLite"])("keeps the history of a pruned journal in %s", async (dialect) => {
  const isPostgres = dialect === "PostgreSQL";
  const place = isPostgres ? await postgres.createDatabase("pruned") : join(directory, "pruned.db");
  const journal = await openJournal(place);
  const ids = await writeRollouts(journal);
  const [first] = ids;
  const before = await readShownHistory(journal, ids);
  expect((await findOldRollouts(journal, nowMs)).prunable.map(({ id }) => id)).toEqual([first]);
  expect(await pruneRollout(journal.database, first, nowMs)).toBe(true);
  expect((await findOldRollouts(journal, nowMs)).prunable).toEqual([]);
  expect(await readShownHistory(journal, ids)).toEqual(before);
  await journal.close();
});

it("serves its history on the command line", async () => {
  const journal = await openJournal(join(directory, "command.db"));
  const [first, second, waiting] = await writeRollouts(journal);
  await journal.close();
  const email = createCli(directory, { ...runEnvironment(), EMAIL_SECURITY_DATABASE: "command.db" });
  const history = await email("rollout", "history", "--tenant", "acme");
  expect([history.code, history.stderr]).toEqual([0, ""]);
  expect(history.stdout).toContain(`${second}  done, acme changed  2026-01-`);
  expect(history.stdout).not.toContain(waiting);
  const showResult = await email("rollout", "show", first, "--tenant", "acme", "--output", "shown.md");
  expect([showResult.code, showResult.stderr]).toEqual([0, "Wrote shown.md.\n"]);
  expect(showResult.stdout).toContain("started by dana@build-7");
  expect(showResult.stdout).toContain("+  deny evil.example in acme\n      ticket INC-7 · comment INC-1\n");
  expect(readFileSync(join(directory, "shown.md"), "utf8")).toContain("- `+` `deny` `evil.example` in `acme`\n");
  const difference = await email("rollout", "diff", first, second);
  expect([difference.code, difference.stderr]).toEqual([2, ""]);
  expect(difference.stdout).toContain(`Only in ${second}: 1 tenant`);
  expect((await email("rollout", "diff", first, first)).code).toBe(0);

  const dryRun = await email("rollout", "prune", "--older-than", "1d");
  expect([dryRun.code, dryRun.stdout]).toEqual([2, expect.stringMatching(`^${first}  tenants.yaml  r2-`)]);
  expect(dryRun.stderr).toContain(`Not pruned: ${waiting} (waiting): it is not finished.\n`);
  expect(dryRun.stderr).toContain(`Not pruned: ${second} (done): it can be rolled back`);
  expect(dryRun.stderr).toContain("Nothing was changed. Of 1 rollout that ended before");
  const pruned = await email("rollout", "prune", "--older-than", "1d", "--yes");
  expect([pruned.code, pruned.stdout]).toEqual([0, expect.stringContaining("Pruned 1 rollout.\n")]);
  expect((await email("rollout", "prune", "--older-than", "1d", "--yes")).stdout).toMatch(
    /^Nothing to prune: no rollout ended before/,
  );
  const resumed = await email("rollout", "resume", first);
  expect([resumed.code, resumed.stderr]).toEqual([
    1,
    expect.stringContaining("was pruned: its files and plans were removed. Nothing was changed."),
  ]);
});
