import { EmailSecurityError } from "../settings/email-security-error";
import { type FailureScope, scopeOfCode } from "./response-classification";

/** What a failed request was about. Holds no header and no key. */
export interface RequestFacts {
  readonly method: string;
  /** The path below the service's address, without the query. */
  readonly path: string;
}

/** What a {@link ServiceError} is made from. */
export interface ServiceErrorOptions extends ErrorOptions {
  readonly request: RequestFacts;
  /** The HTTP status, where an answer came. */
  readonly status?: number;
  /** The service's own words (`error` of the body), where it gave any. */
  readonly serviceMessage?: string | undefined;
  /** The parsed body, where there was one. */
  readonly body?: unknown;
  /** Whether the service may have done what it was asked. Default: false. */
  readonly outcomeUnknown?: boolean;
  /** Whether the same request may succeed when it is made again. Default: false. */
  readonly isTransient?: boolean;
  /** Whom the failure concerns. Default: by the code, else the request. */
  readonly scope?: FailureScope;
  /** How long the service asked to wait, in milliseconds, where it said so. */
  readonly retryAfterMs?: number | undefined;
}

/** A request that did not succeed. The base of every error that the client throws once a request is on its way. */
export class ServiceError extends EmailSecurityError {
  readonly request: RequestFacts;
  readonly status: number | undefined;
  readonly serviceMessage: string | undefined;
  /** Whether the service may have done what it was asked although the answer did not say so. */
  readonly outcomeUnknown: boolean;
  /** Whether the same request may succeed when it is made again. */
  readonly isTransient: boolean;
  /** Whom the failure concerns: this request, the tenant, the service. */
  readonly scope: FailureScope;
  /** How long the service asked to wait, in milliseconds, where it said so. */
  readonly retryAfterMs: number | undefined;
  /** How often the request was made in all. */
  readonly tries: number = 1;
  /** The parsed body of the answer. Not enumerable, so that a log of the error stays short. */
  declare readonly body: unknown;

  constructor(code: string, message: string, options: ServiceErrorOptions) {
    super(code, message, options);
    this.request = options.request;
    this.status = options.status;
    this.serviceMessage = options.serviceMessage;
    this.outcomeUnknown = options.outcomeUnknown ?? false;
    this.isTransient = options.isTransient ?? false;
    this.scope = options.scope ?? scopeOfCode(code) ?? "request";
    this.retryAfterMs = options.retryAfterMs;
    Object.defineProperty(this, "body", { value: options.body, enumerable: false });
  }
}

/** Something in the configuration or in the arguments of a call is wrong; no request was made. `ERR_CONFIGURATION` */
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

/** 400: the service found the request invalid. `ERR_BAD_REQUEST` */
export class BadRequestError extends ServiceError {}

/** 401 or 403: the API key is missing, unknown or not allowed to do this. `ERR_AUTH` */
export class AuthenticationError extends ServiceError {}

/** 404: what was asked for does not exist for this tenant. `ERR_NOT_FOUND` */
export class NotFoundError extends ServiceError {}

/** 409: it exists already, or collides with an entry on the other list. `ERR_CONFLICT` */
export class ConflictError extends ServiceError {}

/** 429: too many requests. `ERR_RATE_LIMITED` */
export class RateLimitedError extends ServiceError {}

/** 5xx: the service failed. Whether it had done the work is not known. `ERR_SERVER` */
export class ServerError extends ServiceError {}

/** A status that the reference does not name. `ERR_UNEXPECTED_STATUS` */
export class UnexpectedStatusError extends ServiceError {}

/** 3xx: redirects are refused, for they would carry the key elsewhere. `ERR_REDIRECT` */
export class RedirectError extends ServiceError {}

/** No answer within the time limit. `ERR_TIMEOUT` */
export class TimeoutError extends ServiceError {}

/** The connection failed or broke. `ERR_NETWORK` */
export class NetworkError extends ServiceError {}

/** So many requests in a row had failed that this one was not sent. `ERR_CIRCUIT_OPEN` */
export class CircuitOpenError extends ServiceError {}

/**
 * Nobody gives a permit for this request any more, so it was not sent; `tries` counts those before. `ERR_NO_PERMIT`
 */
export class PermitRefusedError extends ServiceError {}

/** The run was cancelled, as by Ctrl-C, before this request was sent. `ERR_CANCELLED` */
export class CancelledError extends PermitRefusedError {}

/**
 * An answer that is not what the reference says: another shape, or a field that is missing. `ERR_INVALID_RESPONSE`
 *
 * The base of what else can be wrong with an answer, each a class with a code of its own.
 */
export class InvalidResponseError extends ServiceError {}

/** A success with an HTML page, as a proxy or a sign-in page gives. `ERR_HTML_RESPONSE` */
export class HtmlResponseError extends InvalidResponseError {}

/** A success with content that is neither JSON nor HTML, or encoded in a way that was not asked for. `ERR_CONTENT_TYPE` */
export class ContentTypeError extends InvalidResponseError {}

/** A success with no body. `ERR_EMPTY_BODY` */
export class EmptyBodyError extends InvalidResponseError {}

/** An answer that ends in its middle, or whose JSON can't be read. `ERR_BROKEN_BODY` */
export class BrokenBodyError extends InvalidResponseError {}

/** An answer in another of the reference's envelopes than the endpoint's own. `ERR_WRONG_ENVELOPE` */
export class WrongEnvelopeError extends InvalidResponseError {}

/** An answer larger than the client reads. `ERR_RESPONSE_TOO_LARGE` */
export class ResponseTooLargeError extends InvalidResponseError {}

/** Addresses that do not belong to the organization; the service wrote nothing. `ERR_NOT_IN_ORGANIZATION` */
export class NotInOrganizationError extends ServiceError {
  /** The addresses the service named. */
  readonly addresses: readonly string[];

  constructor(addresses: readonly string[], message: string, options: ServiceErrorOptions) {
    super("ERR_NOT_IN_ORGANIZATION", message, options);
    this.addresses = addresses;
  }
}

/** A list kept changing while it was read, page by page; no consistent reading came about. `ERR_LIST_UNSTABLE` */
export class ListUnstableError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_LIST_UNSTABLE", message, options);
  }
}
