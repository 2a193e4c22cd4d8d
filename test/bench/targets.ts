import type { Operation } from "#bench/measurement";
import { type MeasurementRow, ratioTo } from "#bench/measurement-rows";

/** A performance target. */
interface Target {
  readonly what: string;
  readonly limit: number;
  readonly unit: string;
  readonly measured: (rows: readonly MeasurementRow[]) => number | undefined;
}

/** A target and its result. */
export interface TargetResult extends Omit<Target, "measured"> {
  /** Undefined if it wasn't measured. */
  readonly measured: number | undefined;
}

const targets: readonly Target[] = [
  atMost("first `up` of one `AllowDenyList`", 1.1, "× floor", ratio("list", "first up", "floor")),
  atMost("no-op `up` of it", 1.1, "× floor", ratio("list", "no-op up", "floor")),
  atMost("the same with `refresh: always`", 1.35, "× floor", ratio("list", "looking up", "floor")),
  atMost("`refresh` of it", 1.25, "× floor", ratio("list", "refresh", "floor")),
  atMost("no-op `up` of it", 1.1, "× a no-op resource with the list", ratio("list", "no-op up", "nothing-list")),
  ...(["growth", "native-growth"] as const).map((peer) =>
    atMost(
      `time per additional entry of the longest list${peer === "growth" ? "" : ", native plugin"}`,
      1.2,
      "× that of the previous size",
      growthOf(peer),
    ),
  ),
  atMost("its state per entry, short comments", 100, "bytes", bytes("list")),
  atMost("its state per entry, comments of 40 characters", 160, "bytes", bytes("list", "comments of 40 characters")),
  atMost("memory of the provider at the longest list", 350, "MB", longestPeak("growth")),
  atMost("the same of the native plugin", 250, "MB", longestPeak("native-growth")),
  ...singleEntryTargets("one `AllowDenyEntry` per entry", "", 1.05),
  ...singleEntryTargets("the same by the native plugin", "native-", 0.8),
  atMost(
    "first `up` of one `AllowDenyEntry` per entry",
    1.1,
    "× as many no-op resources",
    ratio("entries", "first up", "nothing-entries"),
  ),
  atMost("the same", 1 / 3, "× the minimal provider", ratio("entries", "first up", "obvious")),
  atMost(
    "state of an `AllowDenyEntry` without the engine's stack trace",
    850,
    "bytes",
    (rows) => rowOf(rows, "entries-without-checkpoints", "state")?.stateAnEntry?.withoutTraceBytes,
  ),
  atMost("until the dynamic host listens", 0.25, "s", seconds("dynamic-start", "start")),
  ...(["lint", "plan"] as const).flatMap((verb) => [
    atMost(`\`${verb}\` of the longest list`, 2, "s", seconds(verb, verb)),
    atMost("its memory", 250, "MB", (rows) => mb(rowOf(rows, verb, verb)?.peakBytes)),
  ]),
];

function singleEntryTargets(what: string, prefix: "" | "native-", limit: number): Target[] {
  const [peer, floor] = [`${prefix}entries-without-checkpoints`, "nothing-entries-without-checkpoints"];
  return [
    atMost(`${what}, nothing to do`, limit, "× as many no-op resources", ratio(peer, "no-op up", floor)),
    atMost(`${what}, \`refresh\``, limit, "× as many no-op resources", ratio(peer, "refresh", floor)),
  ];
}

export function verdictsOf(rows: readonly MeasurementRow[]): TargetResult[] {
  return targets.map((target) => ({ ...target, measured: target.measured(rows) }));
}

function atMost(what: string, limit: number, unit: string, measured: Target["measured"]): Target {
  return { what, limit, unit, measured };
}

function ratio(peer: string, operation: Operation, to: string): Target["measured"] {
  return (rows) => {
    const row = rowOf(rows, peer, operation);
    return row && ratioTo(to, row, rows);
  };
}

function seconds(peer: string, operation: Operation): Target["measured"] {
  return (rows) => rowOf(rows, peer, operation)?.seconds?.median;
}

function bytes(peer: string, variant?: string): Target["measured"] {
  return (rows) => rowOf(rows, peer, "state", variant)?.stateAnEntry?.compactBytes;
}

function longestPeak(peer: string): Target["measured"] {
  return (rows) => {
    const ofPeer = rows.filter((row) => row.peer === peer);
    const longest = Math.max(...ofPeer.map(({ count }) => count));
    const peaks = ofPeer.flatMap(({ count, peakBytes }) => (count === longest && peakBytes) || []);
    return peaks.length === 0 ? undefined : mb(Math.max(...peaks));
  };
}

/**
 * Returns how much the cost per additional entry rises: the cost per entry between the last two sizes, divided by that
 * between the two before. Using differences excludes the fixed cost of each run. The result is the maximum over all
 * operations; above 1, the time grows faster than the number of entries.
 */
function growthOf(peer: string): Target["measured"] {
  return (rows) => {
    const ofPeer = rows.filter((row) => row.peer === peer);
    const sizes = [...new Set(ofPeer.map(({ count }) => count))].sort((a, b) => a - b).slice(-3);
    if (sizes.length < 3) return undefined;
    const anEntry = (from = 0, to = 0, of: Operation): number => {
      const at = (count: number): number =>
        ofPeer.find((row) => row.count === count && row.operation === of)?.seconds?.median ?? Number.NaN;
      return (at(to) - at(from)) / (to - from);
    };
    const [few, some, many] = sizes;
    const rises = ofPeer.map(({ operation }) => anEntry(some, many, operation) / anEntry(few, some, operation));
    // A failed measurement counts as a missed target.
    return Math.max(...rises.map((rise) => (Number.isNaN(rise) ? Number.POSITIVE_INFINITY : rise)));
  };
}

function mb(count: number | undefined): number | undefined {
  return count === undefined ? undefined : count / 1e6;
}

function rowOf(
  rows: readonly MeasurementRow[],
  peer: string,
  operation: Operation,
  variant?: string,
): MeasurementRow | undefined {
  return rows.find((one) => one.peer === peer && one.operation === operation && one.variant === variant);
}
