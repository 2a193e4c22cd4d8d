import { setTimeout as sleep } from "node:timers/promises";

/** What a client knows of time and chance, so that a test can hold both in its hands. */
export interface Time {
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  /** Waits so many milliseconds. */
  readonly sleep: (ms: number) => Promise<unknown>;
  /** From 0 to 1, as Math.random. */
  readonly random: () => number;
}

/** The process's own monotonic clock, timers and chance. */
export const realTime: Time = { now: () => performance.now(), sleep, random: Math.random };

/** The same, whose sleepers wake with the signal's reason once it aborts. */
export function abortableTime(signal: AbortSignal): Time {
  return { ...realTime, sleep: (ms) => sleep(ms, undefined, { signal }) };
}
