import { describe, expect, it } from "vitest";
import {
  buildVitestArguments,
  formatCommand,
  listPendingRuns,
  listRuns,
  parseOptions,
  type StressRun,
} from "../../stress/runs";

const RUN: StressRun = { number: 3, tier: "all", files: [], seed: 3, environment: "clock" };

describe("options", () => {
  it("default to 20 runs of both tiers, two at once, with a busy thread per core", () => {
    expect(parseOptions([], 4)).toEqual({
      tiers: ["test", "all"],
      from: 1,
      count: 20,
      environments: ["default", "relocated", "clock", "relocated+clock"],
      concurrency: 2,
      load: 4,
      files: [],
    });
  });

  it("select tiers, runs, environments and files", () => {
    const typed = "--tier test --from 5 --runs 2 --environment clock --concurrency 1 --load 0 test/unit test/docs";
    expect(parseOptions(typed.split(" "), 4)).toEqual({
      tiers: ["test"],
      from: 5,
      count: 2,
      environments: ["clock"],
      concurrency: 1,
      load: 0,
      files: ["test/unit", "test/docs"],
    });
  });

  it.each([
    ["--tier slow", 'Invalid --tier "slow". Choose one of test, all.'],
    ["--environment turkish", /^Invalid --environment "turkish"\. Choose one of default, relocated, /],
    ["--runs 0", 'Invalid --runs "0". Use a whole number of at least 1.'],
    ["--load 1.5", 'Invalid --load "1.5". Use a whole number of at least 0.'],
    ["--rnus 2", /--rnus/],
  ])("reject an invalid %s", (typed, message) => {
    expect(() => parseOptions(typed.split(" "), 4)).toThrow(message);
  });
});

describe("runs", () => {
  it("take turns in tiers and environments", () => {
    const runs = listRuns({ tiers: ["test", "all"], from: 4, count: 2, environments: ["default", "clock"], files: [] });
    expect(runs.map(({ tier, number, seed, environment }) => [tier, number, seed, environment])).toEqual([
      ["test", 4, 4, "clock"],
      ["all", 4, 4, "clock"],
      ["test", 5, 5, "default"],
      ["all", 5, 5, "default"],
    ]);
  });

  it("pass their tier, seed and files to vitest", () => {
    expect(buildVitestArguments({ ...RUN, files: ["test/unit"] })).toEqual([
      "--mode=all",
      "--sequence.shuffle.files",
      "--sequence.seed=3",
      "test/unit",
    ]);
  });

  it("are repeated by their command", () => {
    const command = formatCommand({ ...RUN, files: ["test/unit"] });
    const options = parseOptions(command.replace("npm run test:stress -- ", "").split(" "), 2);
    expect(listRuns(options)).toEqual([{ ...RUN, files: ["test/unit"] }]);
  });
});

describe("a stopped series", () => {
  const runs = listRuns({ tiers: ["test"], from: 1, count: 3, environments: ["default"], files: [] });

  it("continues with the runs without a result", () => {
    const [first, , third] = runs as [StressRun, StressRun, StressRun];
    expect(listPendingRuns(runs, [{ ...third, sources: "now" }], "now")).toEqual(runs.slice(0, 2));
    expect(listPendingRuns(runs, [{ ...first, sources: "now" }], "now")).toEqual(runs.slice(1));
  });

  it.each<[string, Partial<StressRun & { sources: string }>]>([
    ["other sources", { sources: "then" }],
    ["another tier", { tier: "all" }],
    ["another environment", { environment: "clock" }],
    ["other files", { files: ["test/unit"] }],
  ])("repeats a run whose result is of %s", (_difference, more) => {
    const results = runs.map((run) => ({ ...run, sources: "now", ...more }));
    expect(listPendingRuns(runs, results, "now")).toEqual(runs);
  });
});
