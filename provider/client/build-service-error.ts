import * as errors from "./errors";
import type { ResponseClass } from "./response-classification";

const ERRORS: Readonly<Record<string, typeof errors.ServiceError>> = {
  ERR_AUTH: errors.AuthenticationError,
  ERR_BAD_REQUEST: errors.BadRequestError,
  ERR_TRUNCATED_BODY: errors.TruncatedBodyError,
  ERR_CONFLICT: errors.ConflictError,
  ERR_CONTENT_TYPE: errors.ContentTypeError,
  ERR_EMPTY_BODY: errors.EmptyBodyError,
  ERR_HTML_RESPONSE: errors.HtmlResponseError,
  ERR_INVALID_RESPONSE: errors.InvalidResponseError,
  ERR_NETWORK: errors.NetworkError,
  ERR_NOT_FOUND: errors.NotFoundError,
  ERR_RATE_LIMITED: errors.RateLimitedError,
  ERR_REDIRECT: errors.RedirectError,
  ERR_RESPONSE_TOO_LARGE: errors.ResponseTooLargeError,
  ERR_SERVER: errors.ServerError,
  ERR_TIMEOUT: errors.TimeoutError,
  ERR_UNEXPECTED_STATUS: errors.UnexpectedStatusError,
  ERR_WRONG_ENVELOPE: errors.WrongEnvelopeError,
};

type ServiceErrorDetails = Omit<errors.ServiceErrorOptions, keyof ResponseClass>;

/** Builds the error of a classified response: its class, its code and its effect on other requests. */
export function buildServiceError(
  responseClass: ResponseClass,
  message: string,
  errorDetails: ServiceErrorDetails,
): errors.ServiceError {
  const { code, isTransient, scope, outcomeUnknown, retryAfterMs } = responseClass;
  const ErrorClass = ERRORS[code] ?? errors.ServiceError;
  return new ErrorClass(code, message, {
    ...errorDetails,
    isTransient,
    scope,
    retryAfterMs,
    outcomeUnknown: outcomeUnknown && isWriteRequest(errorDetails.request),
  });
}

export function isWriteRequest(request: errors.RequestInfo): boolean {
  return request.method !== "GET";
}
