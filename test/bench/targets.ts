import type { Operation } from "#bench/measurement";
import { computeRatio, type MeasurementRow } from "#bench/measurement-rows";

/** A performance target. */
interface PerformanceTarget {
  readonly label: string;
  readonly limit: number;
  readonly unit: string;
  readonly measured: (rows: readonly MeasurementRow[]) => number | undefined;
}

/** A target and its result. */
export interface TargetResult extends Omit<PerformanceTarget, "measured"> {
  /** Undefined if it wasn't measured. */
  readonly measured: number | undefined;
}

const targets: readonly PerformanceTarget[] = [
  buildPerformanceTarget(
    "first `up` of one `AllowDenyList`",
    1.1,
    "× floor",
    createRatioMeasure("list", "first up", "floor"),
  ),
  buildPerformanceTarget("no-op `up` of it", 1.1, "× floor", createRatioMeasure("list", "no-op up", "floor")),
  buildPerformanceTarget(
    "the same with `refresh: always`",
    1.35,
    "× floor",
    createRatioMeasure("list", "looking up", "floor"),
  ),
  buildPerformanceTarget("`refresh` of it", 1.25, "× floor", createRatioMeasure("list", "refresh", "floor")),
  buildPerformanceTarget(
    "no-op `up` of it",
    1.1,
    "× a no-op resource with the list",
    createRatioMeasure("list", "no-op up", "nothing-list"),
  ),
  ...(["growth", "native-growth"] as const).map((peer) =>
    buildPerformanceTarget(
      `time per additional entry of the longest list${peer === "growth" ? "" : ", native plugin"}`,
      1.2,
      "× that of the previous size",
      createGrowthMeasure(peer),
    ),
  ),
  buildPerformanceTarget("its state per entry, short comments", 100, "bytes", createStateMeasure("list")),
  buildPerformanceTarget(
    "its state per entry, comments of 40 characters",
    160,
    "bytes",
    createStateMeasure("list", "comments of 40 characters"),
  ),
  buildPerformanceTarget("memory of the provider at the longest list", 350, "MB", createPeakMeasure("growth")),
  buildPerformanceTarget("the same of the native plugin", 250, "MB", createPeakMeasure("native-growth")),
  ...buildSingleEntryTargets("one `AllowDenyEntry` per entry", "", 1.05),
  ...buildSingleEntryTargets("the same by the native plugin", "native-", 0.8),
  buildPerformanceTarget(
    "first `up` of one `AllowDenyEntry` per entry",
    1.1,
    "× as many no-op resources",
    createRatioMeasure("entries", "first up", "nothing-entries"),
  ),
  buildPerformanceTarget(
    "the same",
    1 / 3,
    "× the minimal provider",
    createRatioMeasure("entries", "first up", "naive"),
  ),
  buildPerformanceTarget(
    "state of an `AllowDenyEntry` without the engine's stack trace",
    850,
    "bytes",
    (rows) => findRow(rows, "entries-without-checkpoints", "state")?.stateAnEntry?.tracelessBytes,
  ),
  buildPerformanceTarget("until the dynamic host listens", 0.25, "s", createTimeMeasure("dynamic-start", "start")),
  ...(["lint", "plan"] as const).flatMap((subcommand) => [
    buildPerformanceTarget(`\`${subcommand}\` of the longest list`, 2, "s", createTimeMeasure(subcommand, subcommand)),
    buildPerformanceTarget("its memory", 250, "MB", (rows) =>
      convertToMegabytes(findRow(rows, subcommand, subcommand)?.peakBytes),
    ),
  ]),
];

function buildSingleEntryTargets(label: string, prefix: "" | "native-", limit: number): PerformanceTarget[] {
  const [peer, floor] = [`${prefix}entries-without-checkpoints`, "nothing-entries-without-checkpoints"];
  return [
    buildPerformanceTarget(
      `${label}, nothing to do`,
      limit,
      "× as many no-op resources",
      createRatioMeasure(peer, "no-op up", floor),
    ),
    buildPerformanceTarget(
      `${label}, \`refresh\``,
      limit,
      "× as many no-op resources",
      createRatioMeasure(peer, "refresh", floor),
    ),
  ];
}

export function evaluateTargets(rows: readonly MeasurementRow[]): TargetResult[] {
  return targets.map((target) => ({ ...target, measured: target.measured(rows) }));
}

function buildPerformanceTarget(
  label: string,
  limit: number,
  unit: string,
  measured: PerformanceTarget["measured"],
): PerformanceTarget {
  return { label, limit, unit, measured };
}

function createRatioMeasure(peer: string, operation: Operation, to: string): PerformanceTarget["measured"] {
  return (rows) => {
    const row = findRow(rows, peer, operation);
    return row && computeRatio(to, row, rows);
  };
}

function createTimeMeasure(peer: string, operation: Operation): PerformanceTarget["measured"] {
  return (rows) => findRow(rows, peer, operation)?.seconds?.median;
}

function createStateMeasure(peer: string, variant?: string): PerformanceTarget["measured"] {
  return (rows) => findRow(rows, peer, "state", variant)?.stateAnEntry?.compactBytes;
}

function createPeakMeasure(peer: string): PerformanceTarget["measured"] {
  return (rows) => {
    const peerRows = rows.filter((row) => row.peer === peer);
    const longest = Math.max(...peerRows.map(({ count }) => count));
    const peaks = peerRows.flatMap(({ count, peakBytes }) => (count === longest && peakBytes) || []);
    return peaks.length === 0 ? undefined : convertToMegabytes(Math.max(...peaks));
  };
}

/**
 * Returns how much the cost per additional entry rises: the cost per entry between the last two sizes, divided by that
 * between the two before. Using differences excludes the fixed cost of each run. The result is the maximum over all
 * operations; above 1, the time grows faster than the number of entries.
 */
function createGrowthMeasure(peer: string): PerformanceTarget["measured"] {
  return (rows) => {
    const peerRows = rows.filter((row) => row.peer === peer);
    const sizes = [...new Set(peerRows.map(({ count }) => count))].sort((a, b) => a - b).slice(-3);
    if (sizes.length < 3) return undefined;
    const computeCostPerEntry = (from = 0, to = 0, operation: Operation): number => {
      const getMedian = (count: number): number =>
        peerRows.find((row) => row.count === count && row.operation === operation)?.seconds?.median ?? Number.NaN;
      return (getMedian(to) - getMedian(from)) / (to - from);
    };
    const [few, some, many] = sizes;
    const rises = peerRows.map(
      ({ operation }) => computeCostPerEntry(some, many, operation) / computeCostPerEntry(few, some, operation),
    );
    // A failed measurement counts as a missed target.
    return Math.max(...rises.map((rise) => (Number.isNaN(rise) ? Number.POSITIVE_INFINITY : rise)));
  };
}

function convertToMegabytes(count: number | undefined): number | undefined {
  return count === undefined ? undefined : count / 1e6;
}

function findRow(
  rows: readonly MeasurementRow[],
  peer: string,
  operation: Operation,
  variant?: string,
): MeasurementRow | undefined {
  return rows.find((row) => row.peer === peer && row.operation === operation && row.variant === variant);
}
