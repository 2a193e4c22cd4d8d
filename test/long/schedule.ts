import { findLastResult, type ShardResult } from "#long/journal";
import type { Part } from "#long/parts";
import { listShards, type Shard } from "#long/shards";

/** A part's progress. */
export interface PartProgress {
  readonly name: string;
  readonly part: Part;
  /** The number of cases that have passed with the current sources. */
  readonly done: number;
  /** The shards still to run, including failed ones. */
  readonly undone: readonly Shard[];
  /** The estimated time for them on one core, in seconds, from measured runs. */
  readonly secondsLeft: number;
}

export interface ProgressContext {
  readonly entries: readonly ShardResult[];
  readonly seed: number;
  /** Returns the digest of the files that a part tests. */
  readonly sourcesOf: (part: Part) => string;
}

/** The assumed duration of a shard, in seconds, if its part was never run. */
const UNKNOWN_SECONDS = 150;

/**
 * Computes a part's progress. A shard is done if it has passed and nothing it tests has changed since. A failed shard
 * runs again.
 */
export function computeProgress(name: string, part: Part, { entries, seed, sourcesOf }: ProgressContext): PartProgress {
  const sources = sourcesOf(part);
  const isDone = (shard: Shard): boolean => {
    const entry = findLastResult(shard, { entries, seed, caseCount: part.cases });
    return entry !== undefined && entry.failures.length === 0 && entry.sources === sources;
  };
  const shards = listShards(name, part);
  const undone = shards.filter((shard) => !isDone(shard));
  const measured = entries.filter((entry) => entry.part === name);
  const secondsACase =
    measured.length === 0
      ? UNKNOWN_SECONDS / part.shard
      : sumNumbers(measured.map(({ seconds }) => seconds)) / sumNumbers(measured.map(({ count }) => count));
  const remainingCases = countCases(undone);
  return { name, part, done: part.cases - remainingCases, undone, secondsLeft: remainingCases * secondsACase };
}

/**
 * Returns the remaining shards, those of the parts with the least progress first, so that a stopped run has covered
 * some of each.
 */
export function scheduleShards(parts: readonly PartProgress[]): readonly Shard[] {
  const ranked = parts.flatMap(({ part, done, undone }) =>
    undone.map((shard, index) => ({
      shard,
      share: (done + countCases(undone.slice(0, index))) / part.cases,
    })),
  );
  return ranked.sort((a, b) => a.share - b.share).map(({ shard }) => shard);
}

export function countCases(shards: readonly Shard[]): number {
  return sumNumbers(shards.map(({ count }) => count));
}

export function sumNumbers(numbers: readonly number[]): number {
  return numbers.reduce((sum, item) => sum + item, 0);
}
