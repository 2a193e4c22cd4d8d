import type { Time } from "../../provider/client/time";

/**
 * A clock that advances only when somebody sleeps. Each sleeper wakes in a later turn of the event loop, with the clock
 * advanced by its sleep.
 */
export class VirtualTime implements Time {
  atMs = 0;
  /** The value returned by `random`; 1 shortens no wait. */
  randomValue = 1;
  /** Every sleep, in milliseconds. */
  readonly sleeps: number[] = [];
  readonly #gatherings: (() => void)[] = [];

  readonly now = () => this.atMs;
  readonly random = () => this.randomValue;

  readonly sleep = async (ms: number) => {
    const wakesAt = this.atMs + ms;
    this.sleeps.push(ms);
    await runReadyTasks();
    this.atMs = Math.max(this.atMs, wakesAt);
  };

  /** Batches start only at {@link endGathering}. */
  readonly scheduleBatch = (begin: () => void) => {
    this.#gatherings.push(begin);
  };

  get gatherings(): number {
    return this.#gatherings.length;
  }

  /** Ends the batching delay of all waiting batches and lets their work run for a turn. */
  async endGathering(): Promise<void> {
    for (const begin of this.#gatherings.splice(0)) begin();
    await runReadyTasks();
  }
}

/** Runs everything that is ready. */
export function runReadyTasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
