import { describe, expect, it } from "vitest";
import { formatMutationResults, formatScore, type PartResult } from "../../mutation/results";

const PARTS = {
  risk: { aim: "risky entries", sources: [], tests: [] },
  retry: { aim: "retries", sources: [], tests: [] },
};
const SURVIVOR = { file: "provider/model/risk.ts", line: 12, mutator: "BooleanLiteral", replacement: "false" };
const RESULT: PartResult = {
  killed: 1_990,
  timedOut: 8,
  excluded: 3,
  survivors: [SURVIVOR, SURVIVOR],
  commit: "abc",
  date: "2026-11-29",
  seconds: 120,
};

describe("formatResults", () => {
  it("shows a part that has run", () => {
    const [row = ""] = formatMutationResults(PARTS, { risk: RESULT }).match(/^\| risk .*$/m) ?? [];
    const cells = row.split("|").map((cell) => cell.trim());
    expect(cells.slice(2, -1)).toEqual([
      "risky entries",
      "`abc`",
      "2026-11-29",
      "2.0 min",
      "2,000",
      "1,998",
      "2",
      "3",
      "99.9 %",
    ]);
  });

  it("shows that a part has not run", () => {
    expect(formatMutationResults(PARTS, { risk: RESULT })).toMatch(/^\| retry +\| retries +\| not run /m);
  });

  it("lists surviving mutants", () => {
    expect(formatMutationResults(PARTS, { risk: RESULT })).toContain(
      "### risk\n\n    provider/model/risk.ts:12  BooleanLiteral  false\n",
    );
  });

  it("gives the reason for surviving mutants", () => {
    const parts = { risk: { ...PARTS.risk, survivorsReason: "They change nothing." } };
    expect(formatMutationResults(parts, { risk: RESULT })).toContain(
      "### risk\n\nThey change nothing.\n\n    provider/",
    );
  });

  it("omits the list if no mutant survived", () => {
    expect(formatMutationResults(PARTS, { risk: { ...RESULT, survivors: [] } })).not.toContain("## Surviving mutants");
  });

  it("shortens long replacements to one line", () => {
    const survivor = { ...SURVIVOR, replacement: `{\n  ${"x".repeat(100)}` };
    const text = formatMutationResults(PARTS, { risk: { ...RESULT, survivors: [survivor] } });
    expect(text).toContain(`BooleanLiteral  { ${"x".repeat(77)}…\n`);
  });
});

describe("formatScore", () => {
  it("rounds down", () => {
    expect(formatScore({ ...RESULT, killed: 849_999, timedOut: 0, survivors: Array(150_001).fill(SURVIVOR) })).toBe(
      "84.9 %",
    );
  });

  it("counts exceeded time limits as killed", () => {
    expect(formatScore({ ...RESULT, killed: 1, timedOut: 1, survivors: [SURVIVOR, SURVIVOR] })).toBe("50.0 %");
  });
});
