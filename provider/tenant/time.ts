import { setTimeout as realSleep } from "node:timers/promises";

export { realSleep };

/** Waits for a number of milliseconds. */
export type Sleep = (ms: number) => Promise<unknown>;

/** Starts work after concurrent callers have joined. */
export type ScheduleBatch = (begin: () => void) => void;

/**
 * How long to collect calls after the first, in milliseconds. The engine's parallel calls arrive over several
 * event-loop turns.
 */
const BATCH_WINDOW_MS = 15;

/** Begins {@link BATCH_WINDOW_MS} later. */
export const scheduleBatch: ScheduleBatch = (begin) => {
  setTimeout(begin, BATCH_WINDOW_MS);
};
