import { ResultsFile } from "#long/results-file";
import { formatShardName, type Shard } from "#long/shards";

/** A failed test or shard, and the command to rerun it. */
export interface ShardFailure {
  /** The argument of `npm run test:long` that reruns it: a single case if known. */
  readonly again: string;
  readonly name: string;
  /** The first lines of the failure message. */
  readonly message: string;
}

/** The result of a shard's last run. */
export interface ShardResult extends Shard {
  readonly seed: number;
  /** The number of cases in the part. */
  readonly caseCount: number;
  /** A digest of all the files under test. */
  readonly sources: string;
  /** The commit, with a `+` if uncommitted files were tested. */
  readonly commit: string;
  readonly date: string;
  readonly seconds: number;
  /** The number of cases that passed. */
  readonly done: number;
  /** The names of the tests that passed. */
  readonly passed: readonly string[];
  readonly failures: readonly ShardFailure[];
}

/** The results so far. */
export class ShardJournal extends ResultsFile<ShardResult> {
  constructor(file: string) {
    super(file, formatShardKey);
  }
}

/** Returns the last run of a shard. */
export function findLastResult(
  shard: Shard,
  {
    entries,
    seed,
    caseCount,
  }: { readonly entries: readonly ShardResult[]; readonly seed: number; readonly caseCount: number },
): ShardResult | undefined {
  const key = formatShardKey({ ...shard, seed, caseCount });
  return entries.find((entry) => formatShardKey(entry) === key);
}

/** A different number of cases means a different order, so the number is part of the key. */
function formatShardKey(item: Shard & Pick<ShardResult, "seed" | "caseCount">): string {
  return `${formatShardName(item)} of ${item.caseCount}, seed ${item.seed}`;
}
