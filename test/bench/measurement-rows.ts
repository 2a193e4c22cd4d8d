import type { Measurement, Observation, Operation, StateSize } from "#bench/measurement";
import type { Requests } from "#bench/service";

/** All measurements of one peer, operation, count and variant. */
export interface MeasurementRow {
  readonly peer: string;
  readonly operation: Operation;
  readonly count: number;
  readonly variant: string | undefined;
  readonly runs: number;
  /** Undefined if no time was measured. */
  readonly seconds: { readonly median: number; readonly min: number; readonly max: number } | undefined;
  /** The requests of the last run. */
  readonly requests: Requests | undefined;
  readonly stateAnEntry: StateSize | undefined;
  /** The maximum of all runs, in bytes. */
  readonly peakBytes: number | undefined;
}

type MeasuredOfPeer = Measurement & { readonly peer: string };

/** Groups items by key. Groups are in the order of their first items. */
export function groupItems<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()];
}

/** Returns the rows in the order in which they were first measured. */
export function buildMeasurementRows(observations: readonly Observation[]): MeasurementRow[] {
  const measured = observations.filter((observation): observation is MeasuredOfPeer => "operation" in observation);
  const groups = groupItems(measured, ({ peer, operation, count, variant }) =>
    JSON.stringify([peer, operation, count, variant]),
  );
  return groups.flatMap((group) => {
    const last = group.at(-1);
    if (last === undefined) return [];
    const { peer, operation, count, variant, requests, stateAnEntry } = last;
    const peaks = group.flatMap((measuredOfPeer) => measuredOfPeer.peakBytes ?? []);
    return {
      peer,
      operation,
      count,
      variant,
      runs: group.length,
      seconds: computeSpread(group.flatMap((measuredOfPeer) => measuredOfPeer.seconds ?? [])),
      requests,
      stateAnEntry,
      peakBytes: peaks.length === 0 ? undefined : Math.max(...peaks),
    };
  });
}

function computeSpread(values: readonly number[]): MeasurementRow["seconds"] {
  if (values.length === 0) return undefined;
  return { min: Math.min(...values), max: Math.max(...values), median: computeMedian(values) };
}

/** Returns the median. With an even number of values, it is the mean of the middle two. */
export function computeMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const getValue = (index: number): number => sorted[index] ?? Number.NaN;
  return (getValue(Math.floor((sorted.length - 1) / 2)) + getValue(Math.floor(sorted.length / 2))) / 2;
}

/** Returns the ratio of a row's median time to the other peer's. */
export function computeRatio(peer: string, row: MeasurementRow, rows: readonly MeasurementRow[]): number | undefined {
  const other = findPeerRow(peer, row, rows);
  if (!other?.seconds || !row.seconds) return undefined;
  return row.seconds.median / other.seconds.median;
}

/** Returns another peer's row for the same operation and count. */
export function findPeerRow(
  peer: string,
  row: MeasurementRow,
  rows: readonly MeasurementRow[],
): MeasurementRow | undefined {
  const other = rows.find(
    (measurementRow) =>
      measurementRow.peer === peer && measurementRow.operation === row.operation && measurementRow.count === row.count,
  );
  return other === row ? undefined : other;
}
