import type { Time } from "../../provider/client";
import { runReadyTasks } from "./virtual-time";

/** A clock that advances only when nothing else can run, and then to the next sleeper's time, plus its lateness. */
export class ScheduledTime implements Pick<Time, "now" | "sleep"> {
  atMs: number;
  readonly #lateness: () => number;
  readonly #sleepers: { wakesAt: number; wake: () => void }[] = [];

  /**
   * @param lateness returns how late the next sleeper wakes, in milliseconds. All others wait for it, as in a busy
   * process.
   */
  constructor(atMs: number, lateness: () => number = () => 0) {
    this.atMs = atMs;
    this.#lateness = lateness;
  }

  readonly now = () => this.atMs;

  readonly sleep = (ms: number) =>
    new Promise<void>((wake) => {
      // Like real timers: whole milliseconds, at least one.
      this.#sleepers.push({ wakesAt: this.atMs + Math.max(1, Math.trunc(ms)), wake });
    });

  /** Advances the clock until the promise settles. */
  async advanceUntil(done: Promise<unknown>): Promise<void> {
    let isDone = false;
    const settle = () => (isDone = true);
    done.then(settle, settle);
    for (await runReadyTasks(); !isDone; await runReadyTasks()) {
      this.#sleepers.sort((a, b) => a.wakesAt - b.wakesAt);
      const next = this.#sleepers.shift();
      if (next === undefined) throw new Error("nobody sleeps, and nobody can go on");
      this.atMs = Math.max(this.atMs, next.wakesAt) + this.#lateness();
      next.wake();
    }
  }
}
