import type { Operation } from "#bench/observation";
import { type Row, ratioTo } from "#bench/rows";

/** What is to be reached. */
interface Target {
  readonly what: string;
  readonly limit: number;
  readonly unit: string;
  readonly measured: (rows: readonly Row[]) => number | undefined;
}

/** A target and how it went. */
export interface Verdict extends Omit<Target, "measured"> {
  /** Undefined when it wasn't measured. */
  readonly measured: number | undefined;
}

const targets: readonly Target[] = [
  atMost("first `up` of one `AllowDenyList`", 1.3, "× floor", ratio("list", "first up", "floor")),
  atMost("`up` of it with nothing to do", 1.25, "× floor", ratio("list", "no-op up", "floor")),
  atMost("the same with `refresh: always`", 1.35, "× floor", ratio("list", "looking up", "floor")),
  atMost("`refresh` of it", 1.4, "× floor", ratio("list", "refresh", "floor")),
  atMost("its state an entry, short comments", 100, "bytes", bytes("list")),
  atMost(
    "its state an entry, comments of 40 characters",
    160,
    "bytes",
    bytes("list", "comments of 40 characters"),
  ),
  atMost("memory of the provider at the longest list", 300, "MB", (rows) => {
    const longest = Math.max(...rows.map((row) => (row.peer === "growth" ? row.count : 0)));
    const peaks = rows.flatMap((row) => (row.count === longest && row.providerPeak) || []);
    return peaks.length === 0 ? undefined : Math.max(...peaks) / 1e6;
  }),
  atMost(
    "first `up` of an `AllowDenyEntry` an entry",
    1 / 3,
    "× the obvious provider",
    ratio("entries", "first up", "obvious"),
  ),
  atMost(
    "the same with `PULUMI_SKIP_CHECKPOINTS=true` at the first `up`",
    1 / 20,
    "× the obvious provider",
    ratio("entries-without-checkpoints", "first up", "obvious"),
  ),
];

export function verdictsOf(rows: readonly Row[]): Verdict[] {
  return targets.map((target) => ({ ...target, measured: target.measured(rows) }));
}

function atMost(what: string, limit: number, unit: string, measured: Target["measured"]): Target {
  return { what, limit, unit, measured };
}

function ratio(peer: string, operation: Operation, to: string): Target["measured"] {
  return (rows) => {
    const row = rows.find((one) => one.peer === peer && one.operation === operation);
    return row && ratioTo(to, row, rows);
  };
}

function bytes(peer: string, variant?: string): Target["measured"] {
  return (rows) =>
    rows.find((one) => one.peer === peer && one.operation === "state" && one.variant === variant)
      ?.stateAnEntry?.compactBytes;
}
