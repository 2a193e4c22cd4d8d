import type { ShardJournal } from "#long/journal";
import type { Part } from "#long/parts";
import { formatSeconds } from "#long/results";
import { runShard } from "#long/run-shard";
import { ROOT } from "#long/run-vitest";
import { computeProgress, countCases, type PartProgress, scheduleShards } from "#long/schedule";
import { formatShardName, type Shard } from "#long/shards";
import { Sources } from "#long/sources";

export interface ShardRunOptions {
  readonly seed: number;
  readonly journal: ShardJournal;
  /** The number of shards that run at once. */
  readonly concurrency: number;
  readonly log: (line: string) => void;
  /** Called when the journal has stored another shard. */
  readonly onKept: () => void;
  /** Ends the running shards, whose results are discarded. */
  readonly signal: AbortSignal;
}

/** The totals of a run. */
export interface RunTotals {
  readonly passed: number;
  readonly failed: number;
  /** The number of shards not started or stopped. */
  readonly remaining: number;
}

/** Runs everything in the given parts that isn't done yet. */
export async function runShards(parts: Readonly<Record<string, Part>>, options: ShardRunOptions): Promise<RunTotals> {
  const { seed, journal, concurrency, log } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  const sources = Sources.read(ROOT);
  const entries = journal.readEntries();
  const progress = Object.entries(parts).map(([name, part]) =>
    computeProgress(name, part, { entries, seed, sourcesOf: (item) => sources.getDigest(item) }),
  );
  for (const line of formatOverview(progress, concurrency)) log(line);
  const queue = scheduleShards(progress);
  const done = new Map(progress.map(({ name, done }) => [name, done]));
  const waiting = queue.values();
  const startedAt = performance.now();
  const formatElapsed = (): string => `${((performance.now() - startedAt) / 60_000).toFixed(1).padStart(6)} min`;
  let [passed, failed] = [0, 0];

  const runNextShard = async (shard: Shard): Promise<void> => {
    const part = parts[shard.part] as Part;
    const begunAt = performance.now();
    const outcome = await runShard(shard, part, { seed, signal });
    if (outcome === undefined) return;
    // Part of the shard may have run with the old sources, part with the new ones.
    if (sources.haveChangedSince(part)) {
      log(
        `${formatElapsed()}  The sources have changed: ${formatShardName(shard)} does not count, and what runs is stopped.`,
      );
      return stopping.abort();
    }
    const seconds = (performance.now() - begunAt) / 1_000;
    const date = new Date().toISOString().slice(0, 10);
    const { commit } = sources;
    journal.keep({
      ...shard,
      seed,
      caseCount: part.cases,
      sources: sources.getDigest(part),
      commit,
      date,
      seconds,
      ...outcome,
    });
    options.onKept();
    const isFailed = outcome.failures.length > 0;
    if (isFailed) failed += 1;
    else {
      passed += 1;
      done.set(shard.part, (done.get(shard.part) ?? 0) + shard.count);
    }
    const mode = isFailed ? "FAILED" : "passed";
    log(
      `${formatElapsed()}  ${formatShardName(shard)} has ${mode}, in ${formatSeconds(seconds)}: ${done.get(shard.part)} of ${part.cases}`,
    );
    for (const { name, message, again } of outcome.failures) {
      log(`            ${name}: ${message.split("\n")[0]}`);
      log(`            again: EMAIL_SECURITY_TEST_SEED=${seed} npm run test:long -- ${again}`);
    }
  };
  const runWorker = async (): Promise<void> => {
    for (const shard of waiting) {
      await runNextShard(shard);
      if (signal.aborted) return;
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, runWorker));
  } finally {
    stopping.abort();
  }
  return { passed, failed, remaining: queue.length - passed - failed };
}

function formatOverview(progress: readonly PartProgress[], concurrency: number): string[] {
  const width = Math.max(...progress.map(({ name }) => name.length));
  const lines = progress.map(({ name, part, done, secondsLeft }) => {
    const remainingText = secondsLeft === 0 ? "done" : `about ${formatSeconds(secondsLeft)} left`;
    return `${name.padEnd(width)}  ${String(done).padStart(6)} of ${String(part.cases).padEnd(6)}  ${remainingText}`;
  });
  const seconds = progress.reduce((sum, { secondsLeft }) => sum + secondsLeft, 0) / concurrency;
  const cases = countCases(progress.flatMap(({ undone }) => undone));
  const rest =
    cases === 0
      ? "Nothing is left."
      : `${cases} cases are left: about ${formatSeconds(seconds)} of ${concurrency} cores.`;
  return [...lines, rest];
}
