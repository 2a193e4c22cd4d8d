import type { DoJob, Job, Lane } from "./lane";

/** Runs jobs in this process, all that were handed out at once; whoever hands them out keeps their number. */
export class LocalLane implements Lane {
  readonly #doJob: DoJob;
  readonly #signal: AbortSignal;
  readonly #fail: (error: unknown) => void;
  readonly #running = new Set<Promise<void>>();
  #waiting: Job[] = [];

  /**
   * @param signal ends what is under way at once.
   * @param fail told of what a job could neither do nor write down.
   */
  constructor(doJob: DoJob, signal: AbortSignal, fail: (error: unknown) => void) {
    this.#doJob = doJob;
    this.#signal = signal;
    this.#fail = fail;
  }

  handOut(_database: unknown, jobs: readonly Job[]): Promise<void> {
    // A transaction that is tried again hands out anew.
    this.#waiting = [...jobs];
    return Promise.resolve();
  }

  start(): void {
    for (const job of this.#waiting) {
      const done = this.#doJob(job, this.#signal)
        .catch(this.#fail)
        .finally(() => this.#running.delete(done));
      this.#running.add(done);
    }
    this.#waiting = [];
  }

  async drain(): Promise<void> {
    await Promise.all(this.#running);
  }
}
