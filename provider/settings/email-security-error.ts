/**
 * The base class of every error that this package throws deliberately.
 *
 * Match by `code`, never by message: codes are stable, messages are written for people. The underlying failure, if any, is in
 * `cause`.
 */
export class EmailSecurityError extends Error {
  /** A stable, machine-readable identifier of the failure, such as `ERR_AUTH`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Formats a failure for people: its message with the code in the first line, for docs and scripts. */
export function withCode(error: unknown): string {
  if (!(error instanceof EmailSecurityError)) return error instanceof Error ? error.message : String(error);
  const [firstLine = "", ...remainingLines] = error.message.split("\n");
  return [`${firstLine} [${error.code}]`, ...remainingLines].join("\n");
}
