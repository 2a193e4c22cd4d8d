import type { MachineFacts } from "#bench/machine";
import type { Observation } from "#bench/measurement";
import { buildMeasurementRows, findPeerRow, type MeasurementRow } from "#bench/measurement-rows";
import { formatTable, formatWhole } from "#bench/table";

/** The measurements of a bench, as `--save` writes them and `--compare` reads them. */
export interface SavedMeasurements {
  readonly facts: MachineFacts;
  readonly observations: readonly Observation[];
}

/** The comparison of a bench with an earlier one. */
export interface Comparison {
  readonly text: string;
  /** The results that became slower or larger by more than the noise. */
  readonly worse: readonly string[];
  /** The peers whose times are in `worse`. A second measurement may clear them. */
  readonly slower: ReadonlySet<string>;
}

/**
 * The tolerated relative differences, which apply even where the runs of both benches don't overlap, because there are
 * few runs. Memory and start-up times vary more than other times.
 */
const NOISE = { seconds: 0.1, peak: 0.15, start: 0.2 } as const;

/**
 * Compares each row with the same row of an earlier bench. A time is worse if the fastest run is slower than the
 * slowest earlier run and the median is more than a tenth slower. Both are relative to the floor of the same bench, if
 * there is one, because the machine itself may have become slower. The fastest run is relative to the floor's slowest,
 * because the floor has noise too. Requests must not increase at all, and bytes of state by at most 1 %.
 */
export function compareMeasurements(before: SavedMeasurements, now: SavedMeasurements, getFloor: FloorOf): Comparison {
  const earlier = buildMeasurementRows(before.observations);
  const later = buildMeasurementRows(now.observations);
  const lines: string[][] = [];
  const worse: string[] = [];
  const slower = new Set<string>();
  for (const row of later) {
    const old = earlier.find((measurementRow) => formatRowKey(measurementRow) === formatRowKey(row));
    if (old === undefined) continue;
    for (const { measure, was, is, isWorse } of listDifferences(
      { row: old, rows: earlier, floorOf: getFloor },
      { row, rows: later, floorOf: getFloor },
    )) {
      const name = `${row.peer}: ${row.operation}${row.variant ? `, ${row.variant}` : ""} of ${formatWhole(row.count)}`;
      lines.push([name, measure, was, is, isWorse ? "WORSE" : ""]);
      if (isWorse) worse.push(`${name}: ${measure} ${is}, and ${was} before`);
      if (isWorse && measure === "time") slower.add(row.peer);
    }
  }
  const head = ["", "", `${before.facts.commit}, ${before.facts.date}`, now.facts.commit, ""];
  return { text: formatTable(head, lines, 2), worse, slower };
}

interface Difference {
  readonly measure: string;
  readonly was: string;
  readonly is: string;
  readonly isWorse: boolean;
}

/** Returns the name of the peer that serves as a peer's floor. */
type FloorOf = (peer: string) => string;

interface ComparedRow {
  readonly floorOf: FloorOf;
  readonly row: MeasurementRow;
  readonly rows: readonly MeasurementRow[];
}

function* listDifferences(old: ComparedRow, now: ComparedRow): Iterable<Difference> {
  const [was, is] = [getTimes(old), getTimes(now)];
  if (was !== undefined && is !== undefined) {
    const noise = now.row.operation === "start" ? NOISE.start : NOISE.seconds;
    const hasFloors = was.floor !== undefined && is.floor !== undefined;
    const divideByFloor = ({ floor = NO_FLOOR, ...own }: Times): Seconds =>
      hasFloors ? { min: own.min / floor.max, median: own.median / floor.median, max: own.max / floor.min } : own;
    const [oldRatio, newRatio] = [divideByFloor(was), divideByFloor(is)];
    const formatTimes = ({ median }: Times, ratio: Seconds): string =>
      `${median.toFixed(2)} s${hasFloors ? `, ${ratio.median.toFixed(2)} ×` : ""}`;
    const isWorse = newRatio.min > oldRatio.max && newRatio.median > oldRatio.median * (1 + noise);
    yield { measure: "time", was: formatTimes(was, oldRatio), is: formatTimes(is, newRatio), isWorse };
  }
  const numbers = [
    ["reads", old.row.requests?.reads, now.row.requests?.reads, 0],
    ["writes", old.row.requests?.writes, now.row.requests?.writes, 0],
    ["bytes of state per entry", old.row.stateAnEntry?.compactBytes, now.row.stateAnEntry?.compactBytes, 0.01],
    ["peak of memory, MB", convertToMegabytes(old.row.peakBytes), convertToMegabytes(now.row.peakBytes), NOISE.peak],
  ] as const;
  for (const [field, before, after, noise] of numbers) {
    if (before === undefined || after === undefined) continue;
    // Unchanged counts aren't worth a line.
    if (before === after && noise === 0) continue;
    yield { measure: field, was: formatWhole(before), is: formatWhole(after), isWorse: after > before * (1 + noise) };
  }
}

type Seconds = NonNullable<MeasurementRow["seconds"]>;

interface Times extends Seconds {
  /** The floor's times in the same bench. */
  readonly floor: Seconds | undefined;
}

const NO_FLOOR: Seconds = { min: 1, median: 1, max: 1 };

function getTimes({ row, rows, floorOf }: ComparedRow): Times | undefined {
  if (row.seconds === undefined) return undefined;
  return { ...row.seconds, floor: findPeerRow(floorOf(row.peer), row, rows)?.seconds };
}

function formatRowKey({ peer, operation, count, variant }: MeasurementRow): string {
  return JSON.stringify([peer, operation, count, variant]);
}

function convertToMegabytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / 1e6;
}
