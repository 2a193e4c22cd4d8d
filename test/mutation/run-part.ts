import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Stryker } from "@stryker-mutator/core";
import type { MutationPart } from "#mutation/parts";
import type { PartResult, Survivor } from "#mutation/results";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Passes the tests of a part to `vitest.config.mts`. */
const TEST_FILES_VARIABLE = "MUTATION_TEST_FILES";

/** Git-ignored. Stryker stores its progress there, also when a signal stops it. */
const CACHE = "dist/mutation";

interface StoredProgress {
  readonly files: Readonly<Record<string, { mutants: { readonly static?: boolean; readonly status: string }[] }>>;
}

type MutantResult = Awaited<ReturnType<Stryker["runMutationTest"]>>[number];

/** Runs the mutants of a part that have no result yet, or whose source or tests have changed. */
export async function runPart(name: string, { sources, tests }: MutationPart): Promise<PartResult> {
  process.chdir(ROOT);
  const commit = readCommit();
  const startedAt = performance.now();
  const progressFile = `${CACHE}/${name}.json`;
  removeStaticSurvivors(progressFile);
  // Stryker's option `testFiles` doesn't apply to mutants in constants: with these, it runs all tests of the configuration.
  process.env[TEST_FILES_VARIABLE] = tests.join(" ");
  const mutants = await new Stryker({
    mutate: [...sources],
    plugins: ["@stryker-mutator/vitest-runner"],
    testRunner: "vitest",
    vitest: { configFile: "test/mutation/vitest.config.mts", pool: "forks", related: false },
    // Mutants of a test that waits would exceed its time limit if they shared the cores.
    concurrency: 1,
    incremental: true,
    incrementalFile: progressFile,
    tempDirName: `${CACHE}/sandbox`,
    ignorePatterns: ["/dist", "/sdk"],
    reporters: ["progress-append-only"],
    timeoutMS: 15_000,
  }).runMutationTest();
  const countMutants = (mutantStatus: string): number => mutants.filter(({ status }) => status === mutantStatus).length;
  return {
    killed: countMutants("Killed"),
    timedOut: countMutants("Timeout"),
    excluded: countMutants("Ignored"),
    survivors: mutants.filter(({ status }) => status === "Survived" || status === "NoCoverage").map(toSurvivor),
    commit,
    date: new Date().toISOString().slice(0, 10),
    seconds: (performance.now() - startedAt) / 1_000,
  };
}

/** Stryker wouldn't run new tests with a surviving mutant in a constant, because it doesn't know which tests use it. */
function removeStaticSurvivors(progressFile: string): void {
  if (!existsSync(progressFile)) return;
  const progress = JSON.parse(readFileSync(progressFile, "utf8")) as StoredProgress;
  for (const file of Object.values(progress.files)) {
    file.mutants = file.mutants.filter((mutant) => !(mutant.static && mutant.status === "Survived"));
  }
  writeFileSync(progressFile, JSON.stringify(progress));
}

function toSurvivor({ fileName, location, mutatorName, replacement }: MutantResult): Survivor {
  return {
    file: relative(ROOT, fileName),
    line: location.start.line,
    mutator: mutatorName,
    replacement: replacement ?? "",
  };
}

function readCommit(): string {
  const runGit = (...args: string[]): string => execFileSync("git", args, { encoding: "utf8" });
  const isChanged =
    runGit("status", "--porcelain", "--", "provider", "test", ":(exclude)test/mutation/results.*") !== "";
  return `${runGit("rev-parse", "--short=9", "HEAD").trim()}${isChanged ? "+" : ""}`;
}
