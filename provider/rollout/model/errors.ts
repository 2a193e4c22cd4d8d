import { EmailSecurityError } from "../../settings/email-security-error";
import type { RolloutReport } from "./rollout-report";

/** The code of a failure of a rollout. */
export type RolloutErrorCode =
  /** There is no such rollout, or none that the command is for. */
  | "ERR_ROLLOUT_NOT_FOUND"
  /** Another run is at it, or another rollout at the same tenants. */
  | "ERR_ROLLOUT_BUSY"
  /** What rollouts have left beside the stacks can't be read or written. */
  | "ERR_ROLLOUT_LOCKS"
  /** The journal knows less of a rollout than what it has left beside the stacks. */
  | "ERR_ROLLOUT_JOURNAL_OLD"
  /** What would be done was rolled back, and nobody asked for it by name. */
  | "ERR_ROLLED_BACK"
  /** What a tenant held before can't be known, or can't be declared. */
  | "ERR_ROLLOUT_NOT_KNOWN"
  /** A tenant is skipped, so that no rollout takes it up. */
  | "ERR_ROLLOUT_SKIPPED"
  /** More tenants can't be planned than is tolerated. */
  | "ERR_ROLLOUT_PLAN"
  /** The stack is locked by another run of Pulumi. */
  | "ERR_STACK_LOCKED"
  /** The stack holds what no settings file declares, so that a run would delete it. */
  | "ERR_STACK_FOREIGN"
  /** `pulumi up` failed; its own words are in the message. */
  | "ERR_PULUMI"
  /** The run went through, and the tenant still isn't as declared. */
  | "ERR_ROLLOUT_NOT_AS_DECLARED"
  /** The folder for temporary files can't be used. */
  | "ERR_TEMPORARY_FOLDER"
  /** The tenant was stopped in the middle; the next run does the rest. */
  | "ERR_ROLLOUT_STOPPED";

/** A rollout can't do what it was asked to; match by `code`. */
export class RolloutError extends EmailSecurityError {
  declare readonly code: RolloutErrorCode;

  constructor(code: RolloutErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** The planning ended before all tenants were planned, since more had failed than is tolerated. `ERR_ROLLOUT_PLAN` */
export class PlanningEndedError extends RolloutError {
  /** How far it came. The rollout itself is forgotten. */
  readonly report: RolloutReport;

  constructor(message: string, report: RolloutReport) {
    super("ERR_ROLLOUT_PLAN", message);
    this.report = report;
  }
}
