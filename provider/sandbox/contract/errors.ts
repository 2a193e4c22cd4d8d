/** Why a sandbox could not start; match by this, never by the message. */
export type SandboxErrorCode =
  | "ERR_SANDBOX_PORT"
  | "ERR_SANDBOX_SCENARIO"
  | "ERR_SANDBOX_DATA_FILE"
  | "ERR_SANDBOX_OPTION"
  | "ERR_SANDBOX_TENANT";

/** The sandbox can't do what its caller asked: a bad port, option, scenario or data file, or a tenant that isn't there. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * An error answer: thrown anywhere while a request is handled, sent as `{ error }` with its status (reference,
 * "Errors"). Nothing of the request's transaction remains.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  /** Fields that stand beside `error` in the body. */
  readonly details: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    message: string,
    errorOptions: { details?: Record<string, unknown>; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.status = status;
    this.details = errorOptions.details ?? {};
    this.headers = errorOptions.headers ?? {};
  }
}
