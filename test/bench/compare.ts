import type { MachineFacts } from "#bench/machine";
import type { Observation } from "#bench/observation";
import { type Row, ratioTo, rowsOf } from "#bench/rows";
import { table, whole } from "#bench/table";

/** What a bench has measured, as `--save` writes it and `--compare` reads it. */
export interface Kept {
  readonly facts: MachineFacts;
  readonly observations: readonly Observation[];
}

/** A bench beside an earlier one. */
export interface Comparison {
  readonly text: string;
  /** What became slower or larger by more than the noise. */
  readonly worse: readonly string[];
}

/**
 * By how much a time may differ where the runs of both do not overlap: there are few of them. Memory and start-up times
 * differ by more.
 */
const NOISE = { seconds: 0.1, peak: 0.15, start: 0.2 } as const;

/**
 * Each row beside the same of an earlier bench. A time is worse where the fastest run is slower than the slowest was, and
 * the median by more than a tenth; both as so many times their floor of the same run, where there is one, for the machine
 * may be slower by itself. Requests and bytes of state are the same, or worse.
 */
export function compared(before: Kept, now: Kept, floorOf: FloorOf): Comparison {
  const earlier = rowsOf(before.observations);
  const later = rowsOf(now.observations);
  const lines: string[][] = [];
  const worse: string[] = [];
  for (const row of later) {
    const old = earlier.find((one) => keyOf(one) === keyOf(row));
    if (old === undefined) continue;
    for (const { what, was, is, isWorse } of differences(
      { row: old, rows: earlier, floorOf },
      { row, rows: later, floorOf },
    )) {
      const name = `${row.peer}: ${row.operation}${row.variant ? `, ${row.variant}` : ""} of ${whole(row.count)}`;
      lines.push([name, what, was, is, isWorse ? "WORSE" : ""]);
      if (isWorse) worse.push(`${name}: ${what} ${is}, and ${was} before`);
    }
  }
  const head = ["", "", `${before.facts.commit}, ${before.facts.date}`, now.facts.commit, ""];
  return { text: table(head, lines, 2), worse };
}

interface Difference {
  readonly what: string;
  readonly was: string;
  readonly is: string;
  readonly isWorse: boolean;
}

/** Names the peer that a peer's times are beside. */
type FloorOf = (peer: string) => string;

interface Placed {
  readonly floorOf: FloorOf;
  readonly row: Row;
  readonly rows: readonly Row[];
}

function* differences(old: Placed, now: Placed): Iterable<Difference> {
  const [was, is] = [timesOf(old), timesOf(now)];
  if (was !== undefined && is !== undefined) {
    const noise = now.row.operation === "start" ? NOISE.start : NOISE.seconds;
    const isBesideFloor = was.floor !== undefined && is.floor !== undefined;
    const scale = ({ floor = 1 }: Times): number => (isBesideFloor ? floor : 1);
    const show = (times: Times): string =>
      `${times.median.toFixed(2)} s${isBesideFloor ? `, ${(times.median / scale(times)).toFixed(2)} ×` : ""}`;
    const isWorse =
      is.min / scale(is) > was.max / scale(was) &&
      is.median / scale(is) > (was.median / scale(was)) * (1 + noise);
    yield { what: "time", was: show(was), is: show(is), isWorse };
  }
  const numbers = [
    ["reads", old.row.requests?.reads, now.row.requests?.reads, 0],
    ["writes", old.row.requests?.writes, now.row.requests?.writes, 0],
    ["bytes of state an entry", old.row.stateAnEntry?.compactBytes, now.row.stateAnEntry?.compactBytes, 0.01],
    ["peak of memory, MB", mb(old.row.peakBytes), mb(now.row.peakBytes), NOISE.peak],
  ] as const;
  for (const [what, before, after, noise] of numbers) {
    if (before === undefined || after === undefined) continue;
    // What needs no word: as many as before.
    if (before === after && noise === 0) continue;
    yield { what, was: whole(before), is: whole(after), isWorse: after > before * (1 + noise) };
  }
}

interface Times {
  readonly min: number;
  readonly median: number;
  readonly max: number;
  /** The floor's median in the same bench. */
  readonly floor: number | undefined;
}

function timesOf({ row, rows, floorOf }: Placed): Times | undefined {
  if (row.seconds === undefined) return undefined;
  const ratio = ratioTo(floorOf(row.peer), row, rows);
  return { ...row.seconds, floor: ratio === undefined ? undefined : row.seconds.median / ratio };
}

function keyOf({ peer, operation, count, variant }: Row): string {
  return JSON.stringify([peer, operation, count, variant]);
}

function mb(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / 1e6;
}
