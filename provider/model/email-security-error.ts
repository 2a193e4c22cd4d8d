import type { ErrorCode } from "./error-codes";

/**
 * The base class of every error that this package throws deliberately.
 *
 * Match errors by `code`, never by message: codes are stable, but messages are written for people. `cause` holds the underlying failure, if
 * any.
 */
export class EmailSecurityError extends Error {
  /** A stable, machine-readable identifier of the failure, such as `ERR_AUTH`. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Returns a base class for the errors of one code. */
export function createErrorClass(code: ErrorCode) {
  return class extends EmailSecurityError {
    constructor(message: string, options?: ErrorOptions) {
      super(code, message, options);
    }
  };
}

/** Returns the message of anything that was thrown. */
export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Formats a failure for people. The first line includes the error code, so that people can search for it in the docs. */
export function formatErrorWithCode(error: unknown): string {
  if (!(error instanceof EmailSecurityError)) return getErrorMessage(error);
  const [firstLine = "", ...remainingLines] = error.message.split("\n");
  return [`${firstLine} [${error.code}]`, ...remainingLines].join("\n");
}
