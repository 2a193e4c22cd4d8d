import { collectSecrets } from "../../model/secrets";
import { DatabaseError } from "../database/database-error";
import { JournalError } from "../database/journal-error";
import type { Journal } from "../journal/journal";
import type { ClaimedJob } from "../journal/rollout-record";
import type { TenantError } from "../model/rollout-report";
import { buildTenantError } from "../planning/tenant-error";
import { type Job, type JobHandler, UnrecordedOutcomeError } from "../queue/job-queue";
import type { NextCommands } from "../report/failure-advice";

export interface JournaledJobOptions {
  readonly journal: Journal;
  readonly worker: string;
  readonly getNextCommands?: (claimed: ClaimedJob) => NextCommands;
  readonly environment: NodeJS.ProcessEnv;
}

/** Changes one tenant, or throws. @param secrets receives values to redact from errors: the tenant's key. */
export type TenantChangeHandler = (claimed: ClaimedJob, secrets: string[], signal: AbortSignal) => Promise<void>;

/**
 * Creates a job that records its start and end in the journal. If the journal fails, it throws an {@link UnrecordedOutcomeError}. A tenant counts
 * as changed or failed by its own outcome, never by that of the journal.
 */
export function createJournaledJob(
  { journal, worker, environment, getNextCommands }: JournaledJobOptions,
  changeTenant: TenantChangeHandler,
): JobHandler {
  return async (job: Job, signal: AbortSignal) => {
    const claimed = await journal.claim(job, worker);
    if (claimed === undefined) return;
    const { previousWorker } = claimed;
    if (previousWorker !== undefined)
      await tryAddNote(journal, claimed, `continued after ${previousWorker}, which is no longer running`);
    const secrets: string[] = [];
    let failure: TenantError | undefined;
    try {
      await changeTenant(claimed, secrets, signal);
    } catch (error) {
      // The component that aborted the job decides whether another worker or a resumed run takes the tenant.
      if (signal.aborted) return;
      // An unreadable journal is not a failure of the tenant.
      if (isStorageError(error)) throw new UnrecordedOutcomeError(job, "left", undefined, error);
      failure = buildTenantError(
        error,
        "apply",
        [...secrets, ...collectSecrets(environment)],
        getNextCommands?.(claimed),
      );
    }
    try {
      await journal.finish(claimed, failure);
    } catch (error) {
      throw new UnrecordedOutcomeError(job, failure === undefined ? "changed" : "failed", failure, error);
    }
  };
}

/** Adds a note about a tenant. Ignores failures, because the end of the job reports those of the journal. */
export async function tryAddNote(journal: Journal, claimed: ClaimedJob, message: string): Promise<void> {
  await journal.addNote(claimed, message).catch(() => {});
}

/** Whether the journal's storage failed, whichever database it uses. */
export function isStorageError(error: unknown): error is JournalError | DatabaseError {
  return error instanceof JournalError || error instanceof DatabaseError;
}
