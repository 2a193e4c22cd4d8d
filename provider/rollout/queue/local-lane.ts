import { type DoJob, type Job, type Lane, UnwrittenError } from "./lane";

/** Runs all jobs in this process as soon as they are handed out. The caller limits their number. */
export class LocalLane implements Lane {
  readonly #handler: DoJob;
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  readonly unwritten: UnwrittenError[] = [];
  #waiting: Job[] = [];

  /** @param signal aborts running jobs at once. */
  constructor(handler: DoJob, signal: AbortSignal) {
    this.#handler = handler;
    this.#signal = signal;
  }

  handOut(_database: unknown, jobs: readonly Job[]): Promise<void> {
    // A retried transaction hands the jobs out again.
    this.#waiting = [...jobs];
    return Promise.resolve();
  }

  start(): void {
    for (const job of this.#waiting) {
      const done = this.#handler(job, this.#signal)
        .catch((error: unknown) => {
          const isRecorded = error instanceof UnwrittenError;
          this.unwritten.push(isRecorded ? error : new UnwrittenError(job, "left", undefined, error));
        })
        .finally(() => this.#running.delete(done));
      this.#running.add(done);
    }
    this.#waiting = [];
  }

  async drain(): Promise<void> {
    await Promise.all(this.#running);
  }
}
