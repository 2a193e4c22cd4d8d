import { EmailSecurityError } from "../../settings/email-security-error";

/** The database of a rollout can't be used: what happened, where, and what to do. `ERR_ROLLOUT_JOURNAL` */
export class JournalError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_ROLLOUT_JOURNAL", message, options);
  }
}
