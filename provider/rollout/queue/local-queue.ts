import { type Job, type JobHandler, type JobQueue, UnrecordedOutcomeError } from "./job-queue";

/** Runs all jobs in this process as soon as they are enqueued. The caller limits their number. */
export class LocalQueue implements JobQueue {
  readonly #handler: JobHandler;
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  readonly unrecorded: UnrecordedOutcomeError[] = [];
  #pending: Job[] = [];

  /** @param signal aborts running jobs at once. */
  constructor(handler: JobHandler, signal: AbortSignal) {
    this.#handler = handler;
    this.#signal = signal;
  }

  enqueue(_database: unknown, jobs: readonly Job[]): Promise<void> {
    // A retried transaction enqueues the jobs again.
    this.#pending = [...jobs];
    return Promise.resolve();
  }

  start(): void {
    for (const job of this.#pending) {
      const done = this.#handler(job, this.#signal)
        .catch((error: unknown) => {
          const isRecorded = error instanceof UnrecordedOutcomeError;
          this.unrecorded.push(isRecorded ? error : new UnrecordedOutcomeError(job, "left", undefined, error));
        })
        .finally(() => this.#running.delete(done));
      this.#running.add(done);
    }
    this.#pending = [];
  }

  async drain(): Promise<void> {
    await Promise.all(this.#running);
  }
}
