import type { Measured, Observation, Operation, StateSize } from "#bench/observation";
import type { Requests } from "#bench/service";

/** All measurements of one thing. */
export interface Row {
  readonly peer: string;
  readonly operation: Operation;
  readonly count: number;
  readonly variant: string | undefined;
  readonly runs: number;
  /** Undefined for what takes no time. */
  readonly seconds: { readonly median: number; readonly min: number; readonly max: number } | undefined;
  /** Of the last run. */
  readonly requests: Requests | undefined;
  readonly stateAnEntry: StateSize | undefined;
  /** The most of all runs, in bytes. */
  readonly peakBytes: number | undefined;
}

type MeasuredOfPeer = Measured & { readonly peer: string };

/** The items that share a key, group after group in the order of their firsts. */
export function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()];
}

/** The rows in the order in which they were first measured. */
export function rowsOf(observations: readonly Observation[]): Row[] {
  const measured = observations.filter((one): one is MeasuredOfPeer => "operation" in one);
  const groups = grouped(measured, ({ peer, operation, count, variant }) =>
    JSON.stringify([peer, operation, count, variant]),
  );
  return groups.flatMap((group) => {
    const last = group.at(-1);
    if (last === undefined) return [];
    const { peer, operation, count, variant, requests, stateAnEntry } = last;
    const peaks = group.flatMap((one) => one.peakBytes ?? []);
    return {
      peer,
      operation,
      count,
      variant,
      runs: group.length,
      seconds: spread(group.flatMap((one) => one.seconds ?? [])),
      requests,
      stateAnEntry,
      peakBytes: peaks.length === 0 ? undefined : Math.max(...peaks),
    };
  });
}

function spread(values: readonly number[]): Row["seconds"] {
  const sorted = values.toSorted((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  // Of an even number, the mean of the two in the middle.
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  if (min === undefined || max === undefined || low === undefined || high === undefined) return undefined;
  return { min, max, median: (low + high) / 2 };
}

/** How many times the other peer's time a row took. */
export function ratioTo(peer: string, row: Row, rows: readonly Row[]): number | undefined {
  const other = sameOf(peer, row, rows);
  if (!other?.seconds || !row.seconds) return undefined;
  return row.seconds.median / other.seconds.median;
}

/** What another peer took for the same. */
export function sameOf(peer: string, row: Row, rows: readonly Row[]): Row | undefined {
  const other = rows.find((one) => one.peer === peer && one.operation === row.operation && one.count === row.count);
  return other === row ? undefined : other;
}
