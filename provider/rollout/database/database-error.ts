import { EmailSecurityError } from "../../settings/email-security-error";

/**
 * The PostgreSQL database of a rollout can't be used: which, what happened, and what to do; never its password.
 * `ERR_ROLLOUT_DATABASE`
 */
export class DatabaseError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_ROLLOUT_DATABASE", message, options);
  }
}
