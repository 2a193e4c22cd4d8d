/**
 * The base of every error this package throws on purpose.
 *
 * Match by `code`, never by message: codes are stable, messages are written for people. The underlying failure,
 * where there is one, is kept as `cause`.
 */
export class EmailSecurityError extends Error {
  /** A stable, machine-readable name of the failure, such as `ERR_AUTH`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/**
 * A failure as a person is told of it: its message, the first line of it with the code, by which the docs
 * and scripts know it.
 */
export function withCode(error: unknown): string {
  if (!(error instanceof EmailSecurityError)) return error instanceof Error ? error.message : String(error);
  const [firstLine = "", ...remainingLines] = error.message.split("\n");
  return [`${firstLine} [${error.code}]`, ...remainingLines].join("\n");
}
