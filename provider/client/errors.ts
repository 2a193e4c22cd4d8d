import { EmailSecurityError } from "../model/email-security-error";
import type { ErrorCode } from "../model/error-codes";
import { type FailureScope, getScopeByCode } from "./response-classification";

/** The request that failed. Contains neither headers nor the key. */
export interface RequestInfo {
  readonly method: string;
  /** The path below the service's address, without the query string. */
  readonly path: string;
}

/** The properties of a {@link ServiceError}. */
export interface ServiceErrorOptions extends ErrorOptions {
  readonly request: RequestInfo;
  /** The HTTP status, if there was a response. */
  readonly status?: number;
  /** The service's own message (`error` in the body), if any. */
  readonly serviceMessage?: string | undefined;
  /** The parsed body, if any. */
  readonly body?: unknown;
  /** Whether the request may have taken effect. Default: false. */
  readonly outcomeUnknown?: boolean;
  /** Whether the same request may succeed on retry. Default: false. */
  readonly isTransient?: boolean;
  /** The scope of the failure. Default: derived from the code, otherwise the request. */
  readonly scope?: FailureScope;
  /** The wait that the service requested, in milliseconds, if any. */
  readonly retryAfterMs?: number | undefined;
}

/** A request that failed. The base class of every error that the client throws once a request is in flight. */
export class ServiceError extends EmailSecurityError {
  readonly request: RequestInfo;
  readonly status: number | undefined;
  readonly serviceMessage: string | undefined;
  /** Whether the request may have taken effect although the response doesn't say so. */
  readonly outcomeUnknown: boolean;
  /** Whether the same request may succeed on retry. */
  readonly isTransient: boolean;
  /** The scope of the failure: this request, the tenant or the service. */
  readonly scope: FailureScope;
  /** The wait that the service requested, in milliseconds, if any. */
  readonly retryAfterMs: number | undefined;
  /** The total number of attempts. */
  readonly attempts: number = 1;
  /** The parsed body of the response. Not enumerable, to keep logs of the error short. */
  declare readonly body: unknown;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions) {
    super(code, message, options);
    this.request = options.request;
    this.status = options.status;
    this.serviceMessage = options.serviceMessage;
    this.outcomeUnknown = options.outcomeUnknown ?? false;
    this.isTransient = options.isTransient ?? false;
    this.scope = options.scope ?? getScopeByCode(code) ?? "request";
    this.retryAfterMs = options.retryAfterMs;
    Object.defineProperty(this, "body", { value: options.body, enumerable: false });
  }
}

/** The configuration or the arguments of a call are invalid; no request was made. `ERR_CONFIGURATION` */
export class ConfigurationError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_CONFIGURATION", message, options);
  }
}

/** An argument of a call can't be sent; no request was made. `ERR_INVALID_ARGUMENT` */
export class InvalidArgumentError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_INVALID_ARGUMENT", message, options);
  }
}

/** 400: the service considers the request invalid. `ERR_BAD_REQUEST` */
export class BadRequestError extends ServiceError {}

/** 401 or 403: the API key is missing, unknown or not allowed to do this. `ERR_AUTH` */
export class AuthenticationError extends ServiceError {}

/** 404: the tenant doesn't have the requested object. `ERR_NOT_FOUND` */
export class NotFoundError extends ServiceError {}

/** 409: the object exists already, or conflicts with an entry on the other list. `ERR_CONFLICT` */
export class ConflictError extends ServiceError {}

/** 429: too many requests. `ERR_RATE_LIMITED` */
export class RateLimitedError extends ServiceError {}

/** 5xx: the service failed, and the outcome of the request is unknown. `ERR_SERVER` */
export class ServerError extends ServiceError {}

/** A status that the reference doesn't list. `ERR_UNEXPECTED_STATUS` */
export class UnexpectedStatusError extends ServiceError {}

/** 3xx: redirects are refused because they would send the key elsewhere. `ERR_REDIRECT` */
export class RedirectError extends ServiceError {}

/** No response within the time limit. `ERR_TIMEOUT` */
export class TimeoutError extends ServiceError {}

/** The connection failed or broke. `ERR_NETWORK` */
export class NetworkError extends ServiceError {}

/** The request was not sent because too many requests in a row had failed. `ERR_CIRCUIT_OPEN` */
export class CircuitOpenError extends ServiceError {}

/** The request was not sent because it got no rate limit token; `attempts` counts earlier attempts. `ERR_NO_TOKEN` */
export class RateLimitTokenError extends ServiceError {}

/** The run was cancelled, for example by Ctrl-C, before this request was sent. `ERR_CANCELLED` */
export class CancelledError extends RateLimitTokenError {}

/**
 * A response that doesn't match the reference: a different shape or a missing field. `ERR_INVALID_RESPONSE`
 *
 * The base class of all other response errors, each with its own code.
 */
export class InvalidResponseError extends ServiceError {}

/** A successful response with an HTML page, typically from a proxy or a sign-in page. `ERR_HTML_RESPONSE` */
export class HtmlResponseError extends InvalidResponseError {}

/** A successful response that is neither JSON nor HTML, or has an encoding that wasn't requested. `ERR_CONTENT_TYPE` */
export class ContentTypeError extends InvalidResponseError {}

/** A successful response without a body. `ERR_EMPTY_BODY` */
export class EmptyBodyError extends InvalidResponseError {}

/** A truncated response, or one with invalid JSON. `ERR_TRUNCATED_BODY` */
export class TruncatedBodyError extends InvalidResponseError {}

/** A response in a different envelope than the endpoint's. `ERR_WRONG_ENVELOPE` */
export class WrongEnvelopeError extends InvalidResponseError {}

/** A response above the size limit of the client. `ERR_RESPONSE_TOO_LARGE` */
export class ResponseTooLargeError extends InvalidResponseError {}

/** Addresses outside the organization; the service wrote nothing. `ERR_NOT_IN_ORGANIZATION` */
export class NotInOrganizationError extends ServiceError {
  /** The addresses that the service named. */
  readonly addresses: readonly string[];

  constructor(addresses: readonly string[], message: string, options: ServiceErrorOptions) {
    super("ERR_NOT_IN_ORGANIZATION", message, options);
    this.addresses = addresses;
  }
}

/** A list kept changing between its pages, so no consistent snapshot was possible. `ERR_LIST_UNSTABLE` */
export class ListUnstableError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_LIST_UNSTABLE", message, options);
  }
}
