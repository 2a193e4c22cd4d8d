import { setTimeout as realSleep } from "node:timers/promises";

export { realSleep };

/** Waits for a number of milliseconds. */
export type Sleep = (ms: number) => Promise<unknown>;

/** Starts work after concurrent callers have joined. */
export type Gather = (begin: () => void) => void;

/**
 * How long calls are collected after the first, in milliseconds: parallel calls of the engine arrive over several turns of the
 * event loop.
 */
const GATHERING_MS = 15;

/** Starts the work after {@link GATHERING_MS}. */
export const gatherForAMoment: Gather = (begin) => {
  setTimeout(begin, GATHERING_MS);
};
