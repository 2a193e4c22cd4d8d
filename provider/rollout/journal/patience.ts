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
