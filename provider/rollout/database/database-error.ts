import { EmailSecurityError } from "../../settings/email-security-error";

/**
 * The PostgreSQL database of a rollout can't be used. The message says which one, what happened and what to do, without the password.
 * `ERR_ROLLOUT_DATABASE`
 */
export class DatabaseError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_ROLLOUT_DATABASE", message, options);
  }
}
