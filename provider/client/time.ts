import { setTimeout as sleep } from "node:timers/promises";

/** The client's clock, timers and randomness, replaceable in tests. */
export interface Time {
  /** The current time in milliseconds; only differences matter. */
  readonly now: () => number;
  /** Waits for a number of milliseconds. */
  readonly sleep: (ms: number) => Promise<unknown>;
  /** Returns a number from 0 to 1, like Math.random. */
  readonly random: () => number;
}

/** The process's own monotonic clock, timers and randomness. */
export const realTime: Time = { now: () => performance.now(), sleep, random: Math.random };

/** Returns the real time with timers that reject with the signal's reason once it aborts. */
export function createAbortableTime(signal: AbortSignal): Time {
  return { ...realTime, sleep: (ms) => sleep(ms, undefined, { signal }) };
}
