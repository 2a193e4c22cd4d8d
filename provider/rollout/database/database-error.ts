import { createErrorClass } from "../../model/email-security-error";

/**
 * The PostgreSQL database of a rollout can't be used. The message says which one, what happened and what to do, without the password.
 * `ERR_ROLLOUT_DATABASE`
 */
export class DatabaseError extends createErrorClass("ERR_ROLLOUT_DATABASE") {}
