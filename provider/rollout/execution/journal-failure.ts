import { getErrorMessage } from "../../model/email-security-error";
import { excerpt, quote } from "../../model/text";
import { DatabaseError } from "../database/database-error";
import { JournalError } from "../database/journal-error";
import type { RolloutSpec } from "../journal/rollout-record";
import type { RunState } from "../model/next-step";
import type { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import type { RolloutState } from "../model/wave";
import { UnrecordedOutcomeError } from "../queue/job-queue";
import { isStorageError } from "./journaled-job";

export interface LastKnownRollout {
  readonly id: string;
  readonly commands: RolloutCommands;
  readonly spec: RolloutSpec | undefined;
  /** The last known state from the journal. */
  readonly runState: RunState | undefined;
  readonly unrecorded: readonly UnrecordedOutcomeError[];
}

/** Returns the journal failure behind an error. Undefined for other errors. */
export function getJournalFailure(error: unknown): Error | undefined {
  if (error instanceof UnrecordedOutcomeError) {
    const { cause } = error;
    return cause instanceof Error ? cause : error;
  }
  // A running rollout has vanished from its journal.
  const isMissing = error instanceof RolloutError && error.code === "ERR_ROLLOUT_NOT_FOUND";
  return isStorageError(error) || isMissing ? error : undefined;
}

/** Reports that a rollout ended because its journal failed: what is done, what is not, and how to continue. */
export function buildJournalFailureError(cause: Error, lastKnown: LastKnownRollout): JournalError | DatabaseError {
  const message = [
    `This run of the rollout ${lastKnown.id} ended because its journal failed: ${cause.message}`,
    ...formatUnwrittenTenants(lastKnown.unrecorded),
    ...formatStateLine(lastKnown),
    formatNextStep(cause, lastKnown),
  ].join("\n");
  return rewrapStorageError(cause, message);
}

function rewrapStorageError(cause: Error, message: string): JournalError | DatabaseError {
  return cause instanceof DatabaseError
    ? new DatabaseError(message, { cause })
    : new JournalError(message, { cause, isFileLost: isJournalLost(cause) });
}

/** Reports a journal failure before the run changed anything. Returns other errors unchanged. */
export function wrapErrorBeforeChanges(error: unknown): unknown {
  return isStorageError(error) ? rewrapStorageError(error, `${error.message}\nThis run changed nothing.`) : error;
}

/** Reports a journal failure after a run, together with the run's outcome. Returns other errors unchanged. */
export function wrapErrorAfterRun(error: unknown, id: string, state: RolloutState): unknown {
  if (!isStorageError(error)) return error;
  const outcome = state === "running" ? "was interrupted" : `is ${state}`;
  return rewrapStorageError(error, `The rollout ${id} ${outcome}, and its report can't be read: ${error.message}`);
}

/** Reports that another process may be running the rollout by now. */
export function buildLockLostError(id: string, cause: unknown, commands: RolloutCommands): JournalError {
  const reason = getErrorMessage(cause);
  return new JournalError(
    `This run of the rollout ${id} ended because another run may have taken it over: ${reason.replace(/\.?$/, ".")} \`${commands.status(id)}\` shows its progress, and \`${commands.resume(id)}\` continues it.`,
  );
}

const MAX_LISTED_TENANTS = 50;

function formatUnwrittenTenants(unrecorded: readonly UnrecordedOutcomeError[]): string[] {
  // Tenants that were not started only need another run.
  const ordered = unrecorded.toSorted(
    (error, other) => Number(error.outcome === "left") - Number(other.outcome === "left"),
  );
  const lines = ordered
    .slice(0, MAX_LISTED_TENANTS)
    .map((error) => `  ${quote(error.job.tenant)} ${describeOutcome(error)}`);
  return unrecorded.length > MAX_LISTED_TENANTS
    ? [...lines, `  … and ${unrecorded.length - MAX_LISTED_TENANTS} more`]
    : lines;
}

function describeOutcome({ outcome, failure }: UnrecordedOutcomeError): string {
  switch (outcome) {
    case "changed":
      return "was changed, but the journal doesn't record it";
    case "failed":
      return `failed, but the journal doesn't record it: ${failure?.code}: ${excerpt((failure?.message ?? "").replace(/\s+/g, " "), 500)}`;
    case "left":
      return "was not started";
  }
}

function formatStateLine({ runState, unrecorded }: LastKnownRollout): string[] {
  if (runState === undefined) return [];
  const counts = runState.waves.map((wave) => wave.counts);
  const countStates = (...states: (keyof (typeof counts)[number])[]): number =>
    counts.reduce((total, waveCounts) => states.reduce((subtotal, state) => subtotal + waveCounts[state], total), 0);
  const [upToDate, failed] = [countStates("done", "unchanged"), countStates("failed")];
  const [remaining, skipped] = [countStates("pending", "queued", "running"), countStates("skipped")];
  const suffix = unrecorded.length === 0 ? "" : ", including those above";
  return [
    `According to its last records, ${upToDate} of ${upToDate + failed + skipped + remaining} tenants match their files, ${failed} failed, ${skipped === 0 ? "" : `${skipped} are skipped, `}and ${remaining} are left${suffix}.`,
  ];
}

function formatNextStep(cause: Error, { id, spec, commands }: LastKnownRollout): string {
  const resume = `\`${commands.resume(id)}\``;
  if (!isJournalLost(cause)) return `After you fix that, continue: ${resume} does the rest, and repeats no change.`;
  const replanAdvice =
    spec?.rollsBack === undefined
      ? `start a new rollout: \`${commands.plan(spec?.source ?? "tenants.yaml")}\` plans all tenants again`
      : "revert the settings files by hand, and start a new rollout: it plans all tenants again";
  return `If you have the journal, restore it together with the files next to it (-wal), and continue: ${resume}. Otherwise abandon this rollout, \`${commands.abandon(id)}\`, and ${replanAdvice}. It repeats no change, and waits again at each gate that this one has not passed.`;
}

function isJournalLost(cause: Error): boolean {
  return cause instanceof RolloutError || (cause instanceof JournalError && cause.isFileLost);
}
