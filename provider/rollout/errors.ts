import { EmailSecurityError } from "../settings/email-security-error";

/** The code of a failure of a rollout. */
export type RolloutErrorCode =
  /** There is no such rollout, or none that the command is for. */
  | "ERR_ROLLOUT_NOT_FOUND"
  /** Another run is at it, or another rollout at the same tenants. */
  | "ERR_ROLLOUT_BUSY"
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
