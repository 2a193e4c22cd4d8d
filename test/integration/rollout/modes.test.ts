import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { renderHistoryText } from "../../../provider/rollout/history/history-text";
import { findOldRollouts } from "../../../provider/rollout/history/old-rollouts";
import { readRolloutHistory } from "../../../provider/rollout/history/rollout-history";
import { Journal } from "../../../provider/rollout/journal/journal";
import { readLastApplied } from "../../../provider/rollout/journal/last-applied";
import { findRetryableRollouts } from "../../../provider/rollout/journal/rollout-tally";
import { type RolloutAction, selectRollout } from "../../../provider/rollout/journal/select-rollout";
import { RolloutCommands } from "../../../provider/rollout/model/rollout-commands";
import type { RolloutMode } from "../../../provider/rollout/model/rollout-mode";
import { buildRolloutReport } from "../../../provider/rollout/report/build-rollout-report";
import { renderReportText } from "../../../provider/rollout/report/report-text";
import { createAddition, type RolloutFixture, writeRollout } from "../../support/rollout-fixtures";

/*
 * Unattended rollouts (`--only-expired`, `--revert-drift`) don't count as applying the files, and don't hide earlier
 * rollouts.
 */

const directory = mkdtempSync(join(tmpdir(), "email-security-tasks-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const DAY = 86_400_000;
let count = 0;
const commands = new RolloutCommands();

async function writeRollouts(...all: readonly RolloutFixture[]) {
  let nowMs = Date.UTC(2026, 10, 1);
  const journal = await Journal.open(await openSqlite(join(directory, `${count++}.db`)), () => nowMs);
  const ids: string[] = [];
  for (const fixture of all) {
    nowMs += DAY;
    ids.push(await writeRollout(journal, fixture));
  }
  const selectRolloutId = async (purpose: RolloutAction, id?: string) =>
    (
      await selectRollout(journal, id, purpose, {
        journalLocation: "the journal",
        commands,
        isLocked: () => Promise.resolve(false),
        log: () => {},
      })
    ).id;
  return { journal, ids, selectRolloutId, [Symbol.asyncDispose]: async () => await journal.close() };
}

const buildNightlyRollout = (mode: RolloutMode, value: string, rest: Partial<RolloutFixture> = {}): RolloutFixture => ({
  tenants: { acme: [createAddition(value)], globex: [] },
  ...rest,
  spec: { mode },
});

it("excludes nightly runs from the default rollback", async () => {
  await using rollouts = await writeRollouts(
    { tenants: { acme: [createAddition("evil.example")], globex: [createAddition("evil.example")] } },
    buildNightlyRollout("only-expired", "old.example"),
    buildNightlyRollout("revert-drift", "evil.example"),
  );
  const [change = "", ended = "", revert = ""] = rollouts.ids;
  expect(await rollouts.selectRolloutId("status")).toBe(revert);
  expect(await rollouts.selectRolloutId("rollback")).toBe(change);
  expect(await rollouts.selectRolloutId("rollback", ended)).toBe(ended);
  expect(await rollouts.journal.listLaterChanges(change)).toEqual([]);
  // It isn't retained for that reason; the change is, since the unattended rollout didn't hide it.
  const { prunable, retainedRollouts: retained } = await findOldRollouts(rollouts.journal, Date.UTC(2027, 0, 1));
  expect(prunable.map(({ id }) => id)).toEqual([revert, ended]);
  expect(retained.map(({ record }) => record.id)).toEqual([change]);
});

it("does not count a nightly run as applying the files", async () => {
  await using rollouts = await writeRollouts(
    {
      tenants: { acme: [createAddition("evil.example")], globex: [createAddition("evil.example")] },
      failing: ["acme"],
    },
    buildNightlyRollout("only-expired", "old.example"),
  );
  const [change = ""] = rollouts.ids;
  expect(await findRetryableRollouts(rollouts.journal.database, await rollouts.journal.listRollouts())).toEqual(
    new Set([change]),
  );
  const { stacks, otherBackendCount } = await readLastApplied(rollouts.journal.database, {
    project: "p",
    backend: "b",
  });
  expect([...stacks].map(([stack, { applied, pending }]) => [stack, applied?.rollout, pending?.rollout])).toEqual([
    ["acme", undefined, change],
    ["globex", change, undefined],
  ]);
  expect(otherBackendCount).toBe(0);
});

it("reports an unfinished nightly run as pending for its tenants", async () => {
  await using rollouts = await writeRollouts(
    { tenants: { acme: [createAddition("evil.example")], globex: [createAddition("evil.example")] } },
    buildNightlyRollout("revert-drift", "evil.example", { failing: ["acme"], end: "stopped" }),
  );
  const [change = "", open = ""] = rollouts.ids;
  const { stacks } = await readLastApplied(rollouts.journal.database, { project: "p", backend: "b" });
  expect([...stacks].map(([stack, { applied, pending }]) => [stack, applied?.rollout, pending])).toEqual([
    ["acme", change, expect.objectContaining({ rollout: open, state: "failed", rolloutState: "stopped" })],
    ["globex", change, undefined],
  ]);
});

it("settles a nightly failure with the same mode or a full rollout", async () => {
  const failed = buildNightlyRollout("revert-drift", "evil.example", { failing: ["acme"] });
  for (const [after, isRetriable] of [
    [buildNightlyRollout("revert-drift", "evil.example"), false],
    [buildNightlyRollout("only-expired", "old.example"), true],
    [{ tenants: { acme: [createAddition("evil.example")] } }, false],
  ] as const) {
    await using rollouts = await writeRollouts(failed, after);
    const retryableIds = await findRetryableRollouts(rollouts.journal.database, await rollouts.journal.listRollouts());
    expect(retryableIds.has(rollouts.ids[0] ?? "")).toBe(isRetriable);
  }
});

it("resumes an interrupted nightly run in its own mode", async () => {
  await using rollouts = await writeRollouts(
    { tenants: { acme: [createAddition("evil.example")] } },
    { ...buildNightlyRollout("only-expired", "old.example"), end: "running" },
  );
  const [, open = ""] = rollouts.ids;
  expect(await rollouts.selectRolloutId("resume")).toBe(open);
  const report = await buildRolloutReport(rollouts.journal, open, false, commands);
  expect(report.mode).toBe("only-expired");
  const text = renderReportText(report).replace(/\s+/g, " ");
  expect(text).toContain("only removes expired entries");
  expect(text).toContain("0 of 2 tenants changed, 1 unchanged, 0 failed, 1 pending.");
  expect(text).not.toContain("declared");
  const history = await readRolloutHistory(rollouts.journal, { limit: 20 }, () => Promise.resolve(false));
  expect(history.rollouts.map(({ mode }) => mode)).toEqual(["only-expired", undefined]);
  expect(renderHistoryText(history, {}).replace(/\s+/g, " ")).toContain("only removes expired entries");
  expect(commands.plan("tenants.yaml", ["acme"], "revert-drift")).toBe(
    "email-security rollout tenants.yaml --only acme --revert-drift",
  );
});
