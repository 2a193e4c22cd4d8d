import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { buildRunEnvironment, getDirectoryPrefix } from "#stress/environments";
import { readOutcome } from "#stress/outcome";
import type { StressResult } from "#stress/results";
import { buildVitestArguments, getRunKey, listPendingRuns, type StressRun } from "#stress/runs";
import { formatSeconds } from "../long/results.ts";
import type { ResultsFile } from "../long/results-file.ts";
import { ROOT, runVitest } from "../long/run-vitest.ts";
import { Sources } from "../long/sources.ts";

/** A run takes an hour or two; one that takes longer than this hangs, which is a failure. */
const MAX_MS = 6 * 3_600_000;

export interface StressRunOptions {
  readonly journal: ResultsFile<StressResult>;
  readonly concurrency: number;
  readonly load: number;
  readonly log: (line: string) => void;
  /** Called when the journal has stored another result. */
  readonly onResult: () => void;
  /** Ends the runs, whose results are discarded. */
  readonly signal: AbortSignal;
}

export interface StressTotals {
  readonly green: number;
  readonly red: number;
  /** The number of runs not started or stopped. */
  readonly remaining: number;
}

/** Runs everything that has no result yet with the current sources. */
export async function runAll(runs: readonly StressRun[], options: StressRunOptions): Promise<StressTotals> {
  const { journal, concurrency, load, log } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  const sources = Sources.read(ROOT);
  const pending = listPendingRuns(runs, journal.readEntries(), sources.digest);
  log(`${pending.length} of ${runs.length} runs are left.`);
  let [green, red] = [0, 0];
  const queue = pending.values();
  const runOne = async (run: StressRun): Promise<void> => {
    log(`start    ${getRunKey(run)}, seed ${run.seed}`);
    const startedAt = performance.now();
    const outcome = await runTests(run, signal);
    if (outcome === undefined) return;
    if (Sources.read(ROOT).digest !== sources.digest) {
      log(`The sources have changed: ${getRunKey(run)} does not count, and the other runs are stopped.`);
      return stopping.abort();
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    const date = new Date().toISOString().slice(0, 10);
    const { digest, commit } = sources;
    journal.keep({ ...run, load, concurrency, sources: digest, commit, date, seconds, ...outcome });
    options.onResult();
    if (outcome.failed === 0) green += 1;
    else red += 1;
    const counts = `${outcome.passed} passed, ${outcome.failed} failed`;
    log(`${outcome.failed === 0 ? "green" : "RED  "}    ${getRunKey(run)}: ${counts}, in ${formatSeconds(seconds)}`);
    for (const { name, message } of outcome.red) log(`         ${name}: ${message.split("\n")[0]}`);
    if (outcome.leftovers.length > 0) log(`         left behind: ${outcome.leftovers.join(", ")}`);
  };
  const runWorker = async (): Promise<void> => {
    for (const run of queue) {
      await runOne(run);
      if (signal.aborted) return;
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, runWorker));
  } finally {
    stopping.abort();
  }
  return { green, red, remaining: pending.length - green - red };
}

/** Runs the tests once. Returns undefined if they were stopped. */
async function runTests(
  run: StressRun,
  signal: AbortSignal,
): Promise<Pick<StressResult, "passed" | "failed" | "red" | "leftovers"> | undefined> {
  const root = mkdtempSync(join(tmpdir(), getDirectoryPrefix(run.environment)));
  const directory = join(root, "t");
  mkdirSync(directory);
  try {
    const environment = buildRunEnvironment(run.environment, root);
    const end = await runVitest(buildVitestArguments(run), { directory, environment, maxMs: MAX_MS, signal });
    if (end === undefined) return undefined;
    const files = readdirSync(directory).filter((name) => name !== "report.json");
    return {
      ...readOutcome(end, ROOT, { [root]: "…", [ROOT]: "", [homedir()]: "~" }),
      // `mkdtemp` adds six characters.
      leftovers: [
        ...files.map((name) => name.replace(/-[A-Za-z\d]{6}$/, "-…")),
        ...(end.survivors === 0 ? [] : [`${end.survivors} processes`]),
      ],
    };
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
