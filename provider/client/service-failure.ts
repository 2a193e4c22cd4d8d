import {
  AuthenticationError,
  BadRequestError,
  BrokenBodyError,
  ConflictError,
  ContentTypeError,
  EmptyBodyError,
  HtmlResponseError,
  InvalidResponseError,
  NetworkError,
  NotFoundError,
  RateLimitedError,
  RedirectError,
  type RequestFacts,
  ResponseTooLargeError,
  ServerError,
  ServiceError,
  type ServiceErrorOptions,
  TimeoutError,
  UnexpectedStatusError,
  WrongEnvelopeError,
} from "./errors";
import type { Classified } from "./response-classification";

const ERRORS: Readonly<Record<string, typeof ServiceError>> = {
  ERR_AUTH: AuthenticationError,
  ERR_BAD_REQUEST: BadRequestError,
  ERR_BROKEN_BODY: BrokenBodyError,
  ERR_CONFLICT: ConflictError,
  ERR_CONTENT_TYPE: ContentTypeError,
  ERR_EMPTY_BODY: EmptyBodyError,
  ERR_HTML_RESPONSE: HtmlResponseError,
  ERR_INVALID_RESPONSE: InvalidResponseError,
  ERR_NETWORK: NetworkError,
  ERR_NOT_FOUND: NotFoundError,
  ERR_RATE_LIMITED: RateLimitedError,
  ERR_REDIRECT: RedirectError,
  ERR_RESPONSE_TOO_LARGE: ResponseTooLargeError,
  ERR_SERVER: ServerError,
  ERR_TIMEOUT: TimeoutError,
  ERR_UNEXPECTED_STATUS: UnexpectedStatusError,
  ERR_WRONG_ENVELOPE: WrongEnvelopeError,
};

type Details = Omit<ServiceErrorOptions, keyof Classified>;

/** The error of a classified response: its class, its code, and what others make of it. */
export function failureFrom(found: Classified, message: string, details: Details): ServiceError {
  const { code, isTransient, scope, outcomeUnknown, retryAfterMs } = found;
  const ErrorClass = ERRORS[code] ?? ServiceError;
  return new ErrorClass(code, message, {
    ...details,
    isTransient,
    scope,
    retryAfterMs,
    outcomeUnknown: outcomeUnknown && isWrite(details.request),
  });
}

export function isWrite(request: RequestFacts): boolean {
  return request.method !== "GET";
}
