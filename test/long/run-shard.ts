import { mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { computeShardOutcome, type ShardOutcome } from "#long/outcome";
import type { Part } from "#long/parts";
import { ROOT, runVitest, showVitest } from "#long/run-vitest";
import type { Shard } from "#long/shards";

/** A shard takes minutes; one that takes longer than this hangs, which is a failure. */
const MOST_MS = 2 * 3_600_000;

export interface ShardOptions {
  readonly seed: number;
  /** Ends the shard and everything it has started. */
  readonly signal: AbortSignal;
}

/** Runs a shard to its end. Returns undefined if it was stopped, since its partial results are unknown. */
export async function runShard(
  shard: Shard,
  part: Part,
  { seed, signal }: ShardOptions,
): Promise<ShardOutcome | undefined> {
  // The shard gets its own directory, so that its files are cleaned up even if it is killed.
  const directory = mkdtempSync(join(tmpdir(), "email-security-long-"));
  try {
    const environment = buildShardVariables(shard, seed);
    const end = await runVitest(buildArguments(part), { directory, environment, maxMs: MOST_MS, signal });
    if (end === undefined) return undefined;
    return computeShardOutcome(shard, part, end, { [directory]: "…", [ROOT]: "", [homedir()]: "~" });
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Runs a shard as `npm test` would, with its output shown. Returns its exit code. */
export async function showShard(shard: Shard, part: Part, seed: number): Promise<number> {
  return await showVitest(buildArguments(part), buildShardVariables(shard, seed));
}

function buildArguments({ project, file, only }: Part): string[] {
  const args = ["--mode=long", `${file}.test.ts`, `--project=${project}`];
  return only === undefined ? args : [...args, `--testNamePattern=${only}`];
}

function buildShardVariables({ part, from, count }: Shard, seed: number): NodeJS.ProcessEnv {
  return {
    EMAIL_SECURITY_TEST_SHARD: `${part}:${from}+${count}`,
    EMAIL_SECURITY_TEST_SEED: String(seed),
  };
}
