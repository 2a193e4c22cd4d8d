import { EmailSecurityError } from "../../settings/email-security-error";

/** The database of a rollout can't be used: what happened, where, and what to do. `ERR_ROLLOUT_JOURNAL` */
export class JournalError extends EmailSecurityError {
  /** Whether the file is not the one any more that was opened: then there is nothing to go on with. */
  readonly isGone: boolean;

  constructor(message: string, { isGone = false, ...options }: ErrorOptions & { isGone?: boolean } = {}) {
    super("ERR_ROLLOUT_JOURNAL", message, options);
    this.isGone = isGone;
  }
}
