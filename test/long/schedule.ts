import { entryOf, type ShardResult } from "#long/journal";
import type { Part } from "#long/parts";
import { type Shard, shardsOf } from "#long/shards";

/** How far a part is. */
export interface PartProgress {
  readonly name: string;
  readonly part: Part;
  /** How many cases have passed with the sources as they are. */
  readonly done: number;
  /** What is left to be run, those with a failure among it. */
  readonly undone: readonly Shard[];
  /** About how long that takes a core, in seconds, by what was measured. */
  readonly secondsLeft: number;
}

export interface Known {
  readonly entries: readonly ShardResult[];
  readonly seed: number;
  /** The digest of what a part tests. */
  readonly sourcesOf: (part: Part) => string;
}

/** A shard of a part that was never run is taken for so long. */
const UNKNOWN_SECONDS = 150;

/** A shard is done when it has passed, and nothing of what it tests has changed since. One that failed is run again. */
export function progressOf(name: string, part: Part, { entries, seed, sourcesOf }: Known): PartProgress {
  const sources = sourcesOf(part);
  const isDone = (shard: Shard): boolean => {
    const entry = entryOf(shard, { entries, seed, of: part.cases });
    return entry !== undefined && entry.failures.length === 0 && entry.sources === sources;
  };
  const shards = shardsOf(name, part);
  const undone = shards.filter((shard) => !isDone(shard));
  const measured = entries.filter((entry) => entry.part === name);
  const secondsACase =
    measured.length === 0
      ? UNKNOWN_SECONDS / part.shard
      : sumOf(measured.map(({ seconds }) => seconds)) / sumOf(measured.map(({ count }) => count));
  const left = casesIn(undone);
  return { name, part, done: part.cases - left, undone, secondsLeft: left * secondsACase };
}

/** All that is left, the parts that were run least first: one that is stopped has seen something of each. */
export function schedule(parts: readonly PartProgress[]): readonly Shard[] {
  const ranked = parts.flatMap(({ part, done, undone }) =>
    undone.map((shard, at) => ({
      shard,
      share: (done + casesIn(undone.slice(0, at))) / part.cases,
    })),
  );
  return ranked.sort((a, b) => a.share - b.share).map(({ shard }) => shard);
}

export function casesIn(shards: readonly Shard[]): number {
  return sumOf(shards.map(({ count }) => count));
}

export function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}
