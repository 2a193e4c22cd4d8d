import { getErrorMessage } from "../../model/email-security-error";
import type { Queryable } from "../database/database";
import type { TenantError } from "../model/rollout-report";

export interface Job {
  readonly rollout: string;
  readonly wave: number;
  readonly tenant: string;
  /** Counts the retries after failures of the tenant. Each retry is a new job. */
  readonly retryRound: number;
}

/**
 * Runs one job to its end. It checks the journal first, and records the outcome there. Throws only if it can do neither, with an
 * {@link UnrecordedOutcomeError} if the job was started.
 */
export type JobHandler = (job: Job, signal: AbortSignal) => Promise<void>;

export interface JobQueue {
  /**
   * Enqueues jobs, in the same transaction that marks their tenants as queued. Ignores a job that was already
   * enqueued.
   */
  enqueue(database: Queryable, jobs: readonly Job[]): Promise<void>;
  /** Starts the enqueued jobs. Call it after that transaction. */
  start(): void;
  /** Waits for running jobs in this process, and starts no more. */
  drain(): Promise<void>;
  /** Jobs that ended in this process without a record in the journal. No worker has them. Absent if no jobs run here. */
  readonly unrecorded?: readonly UnrecordedOutcomeError[];
}

/** A job whose outcome could not be recorded in the journal. The cause says why. */
export class UnrecordedOutcomeError extends Error {
  readonly job: Job;
  /** The outcome for the tenant. `left`: it was not started. */
  readonly outcome: "changed" | "failed" | "left";
  readonly failure: TenantError | undefined;

  constructor(job: Job, outcome: UnrecordedOutcomeError["outcome"], failure: TenantError | undefined, cause: unknown) {
    super(getErrorMessage(cause), { cause });
    this.job = job;
    this.outcome = outcome;
    this.failure = failure;
  }
}
