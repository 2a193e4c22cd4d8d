import { EmailSecurityError } from "../../model/email-security-error";

/** The database of a rollout can't be used. The message says what happened, where, and what to do. `ERR_ROLLOUT_JOURNAL` */
export class JournalError extends EmailSecurityError {
  /** Whether the opened file was deleted or replaced. The run can't continue then. */
  readonly isFileLost: boolean;

  constructor(message: string, { isFileLost = false, ...options }: ErrorOptions & { isFileLost?: boolean } = {}) {
    super("ERR_ROLLOUT_JOURNAL", message, options);
    this.isFileLost = isFileLost;
  }
}
