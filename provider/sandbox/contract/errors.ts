/** The reason why a sandbox could not start. Match on this code, never on the message. */
export type SandboxErrorCode =
  | "ERR_SANDBOX_PORT"
  | "ERR_SANDBOX_SCENARIO"
  | "ERR_SANDBOX_DATA_FILE"
  | "ERR_SANDBOX_OPTION"
  | "ERR_SANDBOX_TENANT";

/** The sandbox can't be used as requested: an invalid port, option, scenario or data file, or an unknown tenant. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * An error response. Code that handles a request can throw it anywhere; it is sent as `{ error }` with its status
 * (reference, "Errors"). The transaction of the request is rolled back.
 */
export class SandboxHttpError extends Error {
  override readonly name = "Refusal";
  readonly status: number;
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
