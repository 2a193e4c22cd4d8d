import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";

let skippedPauses: ReadonlySet<unknown> = new Set();
const { setTimeout: startPause } = timers;
// The client's own pauses pass a signal and stay unchanged.
timers.setTimeout = ((ms?: number, ...rest: [value?: unknown, options?: object]) =>
  startPause(rest.length === 0 && skippedPauses.has(ms) ? 0 : ms, ...rest)) as typeof startPause;
syncBuiltinESMExports();

/** Skips pauses of these lengths, in milliseconds, in this process from now on. Other pauses are no longer skipped. */
export function skipPauses(lengths: readonly number[]): void {
  skippedPauses = new Set(lengths);
}
