import { describe, expect, it } from "vitest";
import type { ShardResult } from "../../long/journal";
import { computeShardOutcome, type ShardOutcome, type VitestReport } from "../../long/outcome";
import type { Part } from "../../long/parts";
import { formatMatrixResults } from "../../long/results";
import { computeProgress, scheduleShards } from "../../long/schedule";

const KILLS: Part = { project: "engine", file: "test/engine/process-kills", aCase: "a kill", cases: 5, shard: 2 };
const SEQUENCES: Part = { ...KILLS, aCase: "a sequence", cases: 400, shard: 100, tests: 2 };

const SHARD = { part: "kills", from: 2, count: 2 };
const buildShardResult = (more: Partial<ShardResult> = {}): ShardResult => ({
  ...SHARD,
  seed: 1,
  caseCount: 5,
  sources: "now",
  commit: "abc",
  date: "2026-11-21",
  seconds: 60,
  done: 2,
  passed: ["one", "two"],
  failures: [],
  ...more,
});
const FAILURE = { again: "kills:3", name: "the kill", message: "expected\nmore" };

const computeKillsProgress = (entries: readonly ShardResult[], part = KILLS) =>
  computeProgress("kills", part, { entries, seed: 1, sourcesOf: () => "now" });

describe("completed work", () => {
  it("counts shards passed with the same sources, seed and case count", () => {
    const progress = computeKillsProgress([buildShardResult()]);
    expect(progress).toMatchObject({ done: 2, undone: [{ from: 0 }, { from: 4, count: 1 }] });
    // From measured runs: half a minute per case.
    expect(progress.secondsLeft).toBe(90);
    expect(computeKillsProgress([]).secondsLeft).toBe(375);
  });

  it.each<[string, Partial<ShardResult>]>([
    ["has failed", { failures: [FAILURE] }],
    ["was passed by other sources", { sources: "then" }],
    ["is of another seed", { seed: 2 }],
    ["is of another number of cases", { caseCount: 6 }],
    ["is of another size", { count: 3 }],
    ["is of another part", { part: "soak" }],
  ])("excludes a shard that %s", (_why, more) => {
    expect(computeKillsProgress([buildShardResult(more)])).toMatchObject({
      done: 0,
      undone: [{ from: 0 }, { from: 2 }, { from: 4 }],
    });
  });
});

it("schedules the least-run parts first", () => {
  const known = { entries: [buildShardResult({ from: 0 })], seed: 1, sourcesOf: () => "now" };
  const parts = [computeProgress("kills", KILLS, known), computeProgress("models", SEQUENCES, known)];
  expect(scheduleShards(parts).map(({ part, from }) => `${part}:${from}`)).toEqual([
    "models:0",
    "models:100",
    "kills:2",
    "models:200",
    "models:300",
    "kills:4",
  ]);
});

describe("outcome of a shard", () => {
  const buildVitestReport = (...statuses: string[]): VitestReport => ({
    testResults: [
      {
        assertionResults: statuses.map((status, index) => ({
          fullName: `test ${index}`,
          status: status.startsWith("failed") ? "failed" : status,
          failureMessages: status.startsWith("failed") ? [status.slice(7)] : [],
        })),
      },
    ],
  });
  const computeOutcome = (part: Part, code: number, shardReport: VitestReport | undefined): ShardOutcome =>
    computeShardOutcome(
      { ...SHARD, count: part.tests === undefined ? 2 : 100 },
      part,
      { code, report: shardReport, output: "first\nError: the reason\n\n" },
      { "/home/me/project/": "" },
    );

  it("is a pass when the expected number of tests passed", () => {
    expect(computeOutcome(KILLS, 0, buildVitestReport("skipped", "passed", "passed"))).toEqual({
      done: 2,
      passed: ["test 1", "test 2"],
      failures: [],
    });
  });

  it("names the failed case and how to rerun it", () => {
    const shardReport = buildVitestReport(
      "passed",
      "failed Error: \u001b[31mno\u001b[39m\n at /home/me/project/test/a.ts:1",
    );
    expect(computeOutcome(KILLS, 1, shardReport)).toEqual({
      done: 1,
      passed: ["test 0"],
      failures: [{ again: "kills:3", name: "test 1", message: "Error: no\n at test/a.ts:1" }],
    });
  });

  it.each([
    ['Property failed after 3 tests\n{ seed: 1, path: "17:0:1", endOnFailure: true }', "kills:17"],
    ["seed 1, path 101:4: expected", "kills:101"],
    // A path outside the shard's sequences.
    ["seed 1, path 102: expected", "kills:2+100"],
    ["expected 1 to be 2", "kills:2+100"],
  ])("names the failed sequence for %j", (message, again) => {
    // The sequences after the failed one did not run.
    expect(computeOutcome(SEQUENCES, 1, buildVitestReport("passed", `failed ${message}`))).toMatchObject({
      done: 0,
      failures: [{ again, name: "test 1" }],
    });
  });

  it.each<[string, number, VitestReport | undefined, string]>([
    ["nothing", 1, undefined, "0 of its 2 tests have run"],
    ["fewer tests", 0, buildVitestReport("passed", "skipped"), "1 of its 2 tests have run"],
    ["more tests", 0, buildVitestReport("passed", "passed", "passed"), "3 of its 2 tests have run"],
    [
      "an error outside of all tests",
      1,
      buildVitestReport("passed", "passed"),
      "all 2 tests have passed, and vitest ended with 1",
    ],
  ])("is a failure of the whole shard after %s", (_label, code, shardReport, name) => {
    expect(computeOutcome(KILLS, code, shardReport)).toMatchObject({
      done: 0,
      failures: [{ again: "kills:2+2", name, message: "Error: the reason" }],
    });
  });
});

it("summarizes the progress of each part", () => {
  const entries = [
    buildShardResult({ from: 0 }),
    buildShardResult({ commit: "def+", date: "2026-11-22", seconds: 5_400, done: 1, failures: [FAILURE] }),
    buildShardResult({ from: 0, seed: 2 }),
    // From a run with a different number of cases.
    buildShardResult({ from: 0, count: 5 }),
  ];
  const [, ...lines] = formatMatrixResults({ kills: KILLS, models: SEQUENCES }, entries).split("\n\n");
  const [table = "", ...rest] = lines.slice(-5);
  expect(
    table.split("\n").map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    ),
  ).toEqual([
    ["part", "one case", "cases", "seed", "commit", "date", "time", "failures"],
    expect.any(Array),
    ["kills", "a kill", "3 of 5", "1", "`abc` 2, `def+` 2", "2026-11-21, 2026-11-22", "1.5 h", "1"],
    ["kills", "a kill", "2 of 5", "2", "`abc`", "2026-11-21", "60 s", ""],
    ["models", "a sequence", "0 of 400", "", "", "", "", ""],
  ]);
  expect(rest).toEqual([
    "## Failures",
    "### the kill",
    "At `def+`; to repeat it, run `EMAIL_SECURITY_TEST_SEED=1 npm run test:long -- kills:3`:",
    "    expected\n    more\n",
  ]);
});
