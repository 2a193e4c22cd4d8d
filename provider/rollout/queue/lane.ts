import type { Queryable } from "../database/database";
import type { TenantError } from "../model/rollout-report";

/** One tenant whose turn has come. */
export interface Job {
  readonly rollout: string;
  /** The index of its wave, from 0. */
  readonly wave: number;
  readonly tenant: string;
  /** Counts how often the tenant was given another try after it failed: a new try is a new job. */
  readonly round: number;
}

/**
 * Does one job to its end: looks at the journal first, and writes how it went there. Throws only where it could do neither: an
 * {@link UnwrittenError} where the job was begun.
 */
export type DoJob = (job: Job, signal: AbortSignal) => Promise<void>;

/** How tenants whose turn has come get to whoever changes them: in this process, or on other machines. */
export interface Lane {
  /** Hands jobs out, within the transaction that marks their tenants as released; a job that was handed out before is not twice. */
  handOut(database: Queryable, jobs: readonly Job[]): Promise<void>;
  /** Begins what was handed out; called once that transaction is through. */
  start(): void;
  /** Waits for what is under way here, and begins nothing more. */
  drain(): Promise<void>;
  /** Jobs that ended here and of which the journal does not say so: nobody is at them. Absent where none are done here. */
  readonly unwritten?: readonly UnwrittenError[];
}

/** A job of which the journal does not say how it went, since it could not be written. The cause says why. */
export class UnwrittenError extends Error {
  readonly job: Job;
  /** What became of the tenant; `left`: it was not come to. */
  readonly became: "changed" | "failed" | "left";
  /** How it failed. */
  readonly failure: TenantError | undefined;

  constructor(job: Job, became: UnwrittenError["became"], failure: TenantError | undefined, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.job = job;
    this.became = became;
    this.failure = failure;
  }
}
