import { createHash } from "node:crypto";
import { PARTS, type PartName } from "../long/parts";

/*
 * How much of the long matrices a run takes. `npm test` takes a sample of each. `npm run test:long` takes all of one of them, a
 * shard at a time, and says which by `EMAIL_SECURITY_TEST_SHARD`: "kills:40+10" are ten cases of the part `kills`, from its
 * 40th on, in an order that is given by `EMAIL_SECURITY_TEST_SEED`.
 */

/** Gives the order of the cases in a shard, what a sample is drawn by, and the stories that are told in a shard. */
export const SEED = Number(process.env["EMAIL_SECURITY_TEST_SEED"] ?? 1);

const shard = readShard(process.env["EMAIL_SECURITY_TEST_SHARD"]);

/** The cases of a matrix that this run takes. */
export function matrix<Case>(part: PartName, all: readonly Case[], sample: readonly Case[]): readonly Case[] {
  const { cases } = PARTS[part];
  if (all.length !== cases) {
    throw new Error(`The part ${part} has ${cases} cases by test/long/parts.ts, and ${all.length} in truth.`);
  }
  if (!isRun(part)) return sample;
  return shuffled(all).slice(shard?.from, (shard?.from ?? 0) + (shard?.count ?? 0));
}

/** How many stories fast-check tells, and which: of a seed, those from one on are told again by their number as `path`. */
export function stories<Sample extends { readonly numRuns: number; readonly seed?: number }>(
  part: PartName,
  sample: Sample,
): Sample | { readonly numRuns: number; readonly seed: number; readonly path: string } {
  if (shard === undefined || !isRun(part)) return sample;
  return { numRuns: shard.count, seed: SEED, path: String(shard.from) };
}

/** How large something is: whole where its part is run, small in a sample. */
export function sized<Size>(part: PartName, whole: Size, small: Size): Size {
  return isRun(part) ? whole : small;
}

/** How long a test may take, in milliseconds. A shard has no limit of its own: who runs it ends what hangs. */
export function timeLimit(ms: number): number {
  return shard === undefined ? ms : 0;
}

/** Whether it is a part that is run, over whichever front. */
function isRun(part: PartName): boolean {
  return shard?.part.replace(/-native$/, "") === part;
}

function readShard(text: string | undefined) {
  if (text === undefined) return undefined;
  const [, part = "", from, count] = /^([a-z-]+):(\d+)\+(\d+)$/.exec(text) ?? [];
  if (!(part in PARTS)) throw new Error(`EMAIL_SECURITY_TEST_SHARD is "${text}", and not such as "kills:40+10".`);
  return { part, from: Number(from), count: Number(count) };
}

/** The same order for the same seed, whatever is shuffled. */
function shuffled<Case>(cases: readonly Case[]): readonly Case[] {
  const place = (at: number): string => createHash("sha256").update(`${SEED} ${at}`).digest("hex");
  return cases
    .map((one, at) => ({ one, place: place(at) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ one }) => one);
}
