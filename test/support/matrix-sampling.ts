import { createHash } from "node:crypto";
import { PARTS, type PartName } from "../long/parts";

/*
 * Determines how much of the long matrices a run covers. `npm test` runs a sample of each. `npm run test:long` runs one
 * of them in full, a shard at a time, selected by `EMAIL_SECURITY_TEST_SHARD`: "kills:40+10" means ten cases of the
 * part `kills`, starting at its 40th, in an order determined by `EMAIL_SECURITY_TEST_SEED`.
 */

/** Determines the order of the cases in a shard, the samples, and the sequences of a shard. */
export const SEED = Number(process.env["EMAIL_SECURITY_TEST_SEED"] ?? 1);

const shard = readShard(process.env["EMAIL_SECURITY_TEST_SHARD"]);

/** Returns the cases of a matrix that this run covers. */
export function selectCases<Case>(part: PartName, all: readonly Case[], sample: readonly Case[]): readonly Case[] {
  const { cases } = PARTS[part];
  if (all.length !== cases) {
    throw new Error(`The part ${part} has ${cases} cases by test/long/parts.ts, and ${all.length} in truth.`);
  }
  if (!isRun(part)) return sample;
  return shuffleCases(all).slice(shard?.from, (shard?.from ?? 0) + (shard?.count ?? 0));
}

/**
 * Returns fast-check's number of sequences and the sequences to play. In a shard, `path` is the number of the first sequence
 * of the seed to replay.
 */
export function getPropertyOptions<Sample extends { readonly numRuns: number; readonly seed?: number }>(
  part: PartName,
  sample: Sample,
): Sample | { readonly numRuns: number; readonly seed: number; readonly path: string } {
  if (shard === undefined || !isRun(part)) return sample;
  return { numRuns: shard.count, seed: SEED, path: String(shard.from) };
}

/** Returns the number of runs of a property: all of them in `npm run test:all`, and a quarter in `npm test`. */
export function getRunCount(all: number): number {
  return process.env["EMAIL_SECURITY_TEST_RUNS"] === "all" ? all : Math.ceil(all / 4);
}

/** Returns a size: the full one if the part runs in full, the small one in a sample. */
export function selectSize<Size>(part: PartName, whole: Size, small: Size): Size {
  return isRun(part) ? whole : small;
}

/**
 * Returns a test's time limit in milliseconds. Tests in a shard have none of their own: the shard's runner ends hanging
 * tests.
 */
export function getTimeLimit(ms: number): number {
  return shard === undefined ? ms : 0;
}

/** Returns whether the part runs in full, over either provider. */
function isRun(part: PartName): boolean {
  return shard?.part.replace(/-native$/, "") === part;
}

function readShard(text: string | undefined) {
  if (text === undefined) return undefined;
  const [, part = "", from, count] = /^([a-z-]+):(\d+)\+(\d+)$/.exec(text) ?? [];
  if (!(part in PARTS)) throw new Error(`EMAIL_SECURITY_TEST_SHARD is "${text}", and not such as "kills:40+10".`);
  return { part, from: Number(from), count: Number(count) };
}

/** Shuffles deterministically: the same seed gives the same order. */
function shuffleCases<Case>(cases: readonly Case[]): readonly Case[] {
  const computePlace = (index: number): string => createHash("sha256").update(`${SEED} ${index}`).digest("hex");
  return cases
    .map((item, index) => ({ item, place: computePlace(index) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ item }) => item);
}
