import type { Database } from "./database";

/** What is asked for is waited for so long at least, in milliseconds: two who write at once are no failure. */
const LEAST_MS = 1_000;

/** How long what a database can't do now is tried again: until its own time is over, or somebody who waits is in a hurry. */
export class Patience {
  #until = Number.POSITIVE_INFINITY;

  /** From so many milliseconds on, nothing is waited for any more. */
  hurry(ms: number): void {
    this.#until = Math.min(this.#until, performance.now() + ms);
  }

  /**
   * Whether what failed is to be tried no more.
   *
   * @param since when it began to fail, by `performance.now()`.
   * @param patienceMs how long it would be waited for.
   */
  isOver(since: number, patienceMs: number): boolean {
    const now = performance.now();
    return now - since >= patienceMs || now >= Math.max(this.#until, since + LEAST_MS);
  }
}

/** How long a database that can't be used is waited for after Ctrl-C, in milliseconds: what is under way may yet be written. */
const STOPPING_MS = 5_000;

/** Who asks to end does not wait for a database that can't be used. */
export function hurriedBy(
  database: Pick<Database, "hurry">,
  { stopping, aborted }: { readonly stopping?: AbortSignal; readonly aborted?: AbortSignal },
): void {
  stopping?.addEventListener("abort", () => database.hurry(STOPPING_MS), { once: true });
  aborted?.addEventListener("abort", () => database.hurry(0), { once: true });
}
