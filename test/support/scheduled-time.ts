import type { Time } from "../../provider/client";
import { turn } from "./virtual-time";

/** A clock that moves on only when nobody can do anything more, and then to the next who wakes, who may be late. */
export class ScheduledTime implements Pick<Time, "now" | "sleep"> {
  atMs: number;
  readonly #lateness: () => number;
  readonly #sleepers: { wakesAt: number; wake: () => void }[] = [];

  /** @param lateness how late the next one wakes, in milliseconds; all others wait for it, as in a process that is busy. */
  constructor(atMs: number, lateness: () => number = () => 0) {
    this.atMs = atMs;
    this.#lateness = lateness;
  }

  readonly now = () => this.atMs;

  readonly sleep = (ms: number) =>
    new Promise<void>((wake) => {
      // As real timers: whole milliseconds, and at least one.
      this.#sleepers.push({ wakesAt: this.atMs + Math.max(1, Math.trunc(ms)), wake });
    });

  /** Until this is settled. */
  async until(done: Promise<unknown>): Promise<void> {
    let isDone = false;
    const settle = () => (isDone = true);
    done.then(settle, settle);
    for (await turn(); !isDone; await turn()) {
      this.#sleepers.sort((one, other) => one.wakesAt - other.wakesAt);
      const next = this.#sleepers.shift();
      if (next === undefined) throw new Error("nobody sleeps, and nobody can go on");
      this.atMs = Math.max(this.atMs, next.wakesAt) + this.#lateness();
      next.wake();
    }
  }
}
