import { EmailSecurityError } from "../../model/email-security-error";
import type { RolloutReport } from "./rollout-report";

export type RolloutErrorCode =
  /** No such rollout exists, or none matches the command. */
  | "ERR_ROLLOUT_NOT_FOUND"
  /** Another run has the rollout, or another rollout has the same tenants. */
  | "ERR_ROLLOUT_BUSY"
  /** The rollout locks next to the stacks can't be read or written. */
  | "ERR_ROLLOUT_LOCKS"
  /** The journal is older than the rollout's lock next to the stacks. */
  | "ERR_ROLLOUT_JOURNAL_OLD"
  /** The planned changes were rolled back before, and were not requested explicitly. */
  | "ERR_ROLLED_BACK"
  /** A tenant's previous state is unknown, or can't be declared. */
  | "ERR_ROLLBACK_UNAVAILABLE"
  /** The rollout's files and plans were removed from the journal. */
  | "ERR_ROLLOUT_PRUNED"
  /** A tenant is skipped, so no rollout changes it. */
  | "ERR_ROLLOUT_SKIPPED"
  /** The planning of more tenants failed than is tolerated. */
  | "ERR_ROLLOUT_PLAN"
  /** Another Pulumi run has locked the stack. */
  | "ERR_STACK_LOCKED"
  /** The stack contains undeclared entries that a run would delete. */
  | "ERR_STACK_FOREIGN"
  /** `pulumi up` failed. The message contains its output. */
  | "ERR_PULUMI"
  /** The run succeeded, but the tenant still doesn't match its declared state. */
  | "ERR_ROLLOUT_NOT_CONVERGED"
  /** The directory for temporary files can't be used. */
  | "ERR_TEMPORARY_DIRECTORY"
  /** The change of the tenant was interrupted. The next run completes it. */
  | "ERR_ROLLOUT_STOPPED";

/** A rollout can't do what was requested. Match by `code`. */
export class RolloutError extends EmailSecurityError {
  declare readonly code: RolloutErrorCode;

  constructor(code: RolloutErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** The planning ended early, because more tenants failed than is tolerated. `ERR_ROLLOUT_PLAN` */
export class PlanningFailedError extends RolloutError {
  /** The progress so far. The rollout itself is deleted. */
  readonly report: RolloutReport;

  constructor(message: string, report: RolloutReport) {
    super("ERR_ROLLOUT_PLAN", message);
    this.report = report;
  }
}
