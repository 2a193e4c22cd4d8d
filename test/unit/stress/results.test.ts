import { describe, expect, it } from "vitest";
import type { VitestReport } from "../../long/outcome";
import { readOutcome } from "../../stress/outcome";
import { formatStressResults, type StressResult } from "../../stress/results";

const RED = { name: "test/unit/a.test.ts > waits", file: "test/unit/a.test.ts", message: "expected\nmore" };

const RESULT: StressResult = {
  number: 2,
  tier: "test",
  files: [],
  seed: 2,
  environment: "relocated",
  load: 4,
  concurrency: 2,
  sources: "now",
  commit: "abc",
  date: "2026-11-21",
  seconds: 600,
  passed: 3_210,
  failed: 0,
  red: [],
  leftovers: [],
};

function readTable(page: string): string[][] {
  const lines = page.split("\n").filter((line) => line.startsWith("|"));
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

describe("the table", () => {
  it("has one row for each run", () => {
    const page = formatStressResults([
      { ...RESULT, tier: "all", number: 1, seed: 1 },
      {
        ...RESULT,
        files: ["test/unit"],
        red: [{ ...RED, name: "a | b" }],
        failed: 1,
        leftovers: ["x-…", "1 processes"],
      },
      { ...RESULT, number: 1, seed: 1 },
    ]);
    const [head, , ...rows] = readTable(page);
    expect(head).toEqual(
      "run, tier, files, seed, environment, load, commit, date, passed, failed, time, left behind, red tests".split(
        ", ",
      ),
    );
    const end = ["relocated", "4, 2", "`abc`", "2026-11-21", "3,210"];
    expect(rows).toEqual([
      ["1", "test", "", "1", ...end, "0", "10 min", "", ""],
      ["2", "test", "test/unit", "2", ...end, "1", "10 min", "x-…, 1 processes", "a \\| b"],
      ["1", "all", "", "1", ...end, "0", "10 min", "", ""],
    ]);
    expect(page).toContain("## Red tests");
  });

  it("has no section of red tests if all are green", () => {
    expect(formatStressResults([RESULT])).not.toContain("## Red tests");
  });
});

it("shows a red test once", () => {
  const page = formatStressResults([
    { ...RESULT, failed: 1, red: [RED] },
    { ...RESULT, tier: "all", number: 3, environment: "clock", failed: 1, red: [RED] },
  ]);
  expect(page.slice(page.indexOf("### "))).toBe(`### test/unit/a.test.ts > waits

Red in test 2 (relocated), all 3 (clock). To repeat it, run \`npm run test:stress -- --tier test --from 2 --runs 1 --environment relocated test/unit/a.test.ts\`:

    expected
    more
`);
});

describe("the outcome of a run", () => {
  const readTestOutcome = (code: number, ...testResults: VitestReport["testResults"]) =>
    readOutcome({ code, report: { testResults }, output: "first\nError: the reason\n" }, "/project", {
      "/project/": "",
    });
  const buildTestResult = (status: string, message = "") => ({
    fullName: `is ${status}`,
    status,
    failureMessages: [message],
  });
  const PASSED = {
    name: "/project/test/b.test.ts",
    status: "passed",
    assertionResults: [buildTestResult("passed"), buildTestResult("skipped")],
  };

  it("counts tests that ran", () => {
    expect(readTestOutcome(0, PASSED)).toEqual({ passed: 1, failed: 0, red: [] });
  });

  it("names red tests by file and name", () => {
    const file = {
      name: "/project/test/a.test.ts",
      status: "failed",
      assertionResults: [buildTestResult("failed", "Error: at /project/test/a.ts")],
    };
    expect(readTestOutcome(1, file, PASSED)).toEqual({
      passed: 1,
      failed: 1,
      red: [{ name: "test/a.test.ts > is failed", file: "test/a.test.ts", message: "Error: at test/a.ts" }],
    });
  });

  it("is red for a file that fails outside its tests", () => {
    const file = { name: "/project/test/a.test.ts", status: "failed", message: "no module", assertionResults: [] };
    expect(readTestOutcome(1, file, PASSED)).toEqual({
      passed: 1,
      failed: 1,
      red: [{ name: "test/a.test.ts", file: "test/a.test.ts", message: "no module" }],
    });
  });

  it("is red if vitest fails outside all tests", () => {
    const failed = { failed: 1, red: [{ name: "vitest ended with 1", message: "Error: the reason" }] };
    expect(readTestOutcome(1, PASSED)).toEqual({ passed: 1, ...failed });
    expect(readOutcome({ code: 1, report: undefined, output: "Error: the reason" }, "/project", {})).toEqual({
      passed: 0,
      ...failed,
    });
  });
});
