import { setTimeout as sleep } from "node:timers/promises";

/** What a tenant knows of time and chance, so that a test can hold both in its hands. */
export interface Time {
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  /** Waits so many milliseconds. */
  readonly sleep: (ms: number) => Promise<unknown>;
  /** From 0 to 1, as Math.random. */
  readonly random: () => number;
  /** Begins something once those who ask at the same time have asked: {@link GATHERING_MS} later. */
  readonly gather: (begin: () => void) => void;
}

/** How long calls are gathered after the first: the engine's parallel ones arrive over several event-loop turns. */
const GATHERING_MS = 15;

/** The process's own monotonic clock, timers and chance. */
export const realTime: Time = {
  now: () => performance.now(),
  sleep,
  random: Math.random,
  gather: (begin) => {
    setTimeout(begin, GATHERING_MS);
  },
};
