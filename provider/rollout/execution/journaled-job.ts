import { secretsIn } from "../../settings/secrets";
import { DatabaseError } from "../database/database-error";
import { JournalError } from "../database/journal-error";
import type { Journal } from "../journal/journal";
import type { ClaimedTenant } from "../journal/rollout-record";
import type { TenantError } from "../model/rollout-report";
import { tenantError } from "../planning/tenant-error";
import { type DoJob, type Job, UnwrittenError } from "../queue/lane";
import type { NextCommands } from "../report/advice";

/** Where a job is written down, and by whom. */
export interface JournaledJobOptions {
  readonly journal: Journal;
  /** Who does it: `host:pid`. */
  readonly worker: string;
  /** How somebody goes on with a rollout in which a tenant failed. */
  readonly next?: (claimed: ClaimedTenant) => NextCommands;
  /** Whose secrets are in no error that is kept. */
  readonly environment: NodeJS.ProcessEnv;
}

/** Changes one tenant, or throws. @param secrets is given what must be in no error: the tenant's key. */
export type Change = (claimed: ClaimedTenant, secrets: string[], signal: AbortSignal) => Promise<void>;

/**
 * A job whose beginning and end are in the journal. What the journal does not take is told by an {@link UnwrittenError}: a tenant is
 * called changed, or failed, by how it went with the tenant, and never by how it went with the journal.
 */
export function journaledJob(
  { journal, worker, environment, next }: JournaledJobOptions,
  change: Change,
): DoJob {
  return async (job: Job, signal: AbortSignal) => {
    const claimed = await journal.begin(job, worker);
    if (claimed === undefined) return;
    const { takenOverFrom } = claimed;
    if (takenOverFrom !== undefined)
      await noted(journal, claimed, `taken over from ${takenOverFrom}, which is gone`);
    const secrets: string[] = [];
    let failure: TenantError | undefined;
    try {
      await change(claimed, secrets, signal);
    } catch (error) {
      // Who stopped it says whether the tenant is given to somebody else, or left to be resumed.
      if (signal.aborted) return;
      // That the journal can't be read is no failure of the tenant.
      if (isOfStorage(error)) throw new UnwrittenError(job, "left", undefined, error);
      failure = tenantError(error, "apply", [...secrets, ...secretsIn(environment)], next?.(claimed));
    }
    try {
      await journal.finish(claimed, failure);
    } catch (error) {
      throw new UnwrittenError(job, failure === undefined ? "changed" : "failed", failure, error);
    }
  };
}

/** Writes a word about a tenant. One that can't be written is no reason to leave the tenant: its end tells of the journal. */
export async function noted(journal: Journal, claimed: ClaimedTenant, message: string): Promise<void> {
  await journal.note(claimed, message).catch(() => {});
}

/** Whether it is the journal that failed, wherever it is kept. */
export function isOfStorage(error: unknown): error is JournalError | DatabaseError {
  return error instanceof JournalError || error instanceof DatabaseError;
}
