import { RATE_LIMIT_STATUSES } from "../model/assumptions";
import type { ErrorCode } from "../model/error-codes";
import { parseRetryAfterMs, type ResponseHeaders } from "./retry-after";

/*
 * Classifies responses, and connections that failed without one. The client, the outcome checks, the rollouts and the
 * notices all use this table; `npm run docs` generates docs/reference/responses.md from it.
 */

/** The scope of a failure. */
export type FailureScope = "request" | "tenant" | "rate limit" | "service" | "content";

/** The effects of a failure on requests other than the one that failed. */
export const FAILURE_SCOPES: Readonly<Record<FailureScope, ScopeEffects>> = {
  request: { concerns: "this request; the service works" },
  tenant: { concerns: "every request with this API key; the service works", maxConsecutiveFailures: 1 },
  "rate limit": {
    concerns: "every request until the pause ends; the service works",
    isSharedByAddress: true,
    isRetryAfterRespected: true,
    maxConsecutiveFailures: 10,
  },
  service: {
    concerns: "the service, or the connection to it",
    isBreakerFailure: true,
    isSharedByAddress: true,
    isRetryAfterRespected: true,
    maxConsecutiveFailures: 10,
  },
  content: { concerns: "the response: it isn't from the service, or not as documented", isBreakerFailure: true },
};

interface ScopeEffects {
  readonly concerns: string;
  /** Whether the circuit breaker counts it as a failure. */
  readonly isBreakerFailure?: boolean;
  /** Whether all tenants of the address may fail the same way. */
  readonly isSharedByAddress?: boolean;
  /** Whether a `Retry-After` header with its status pauses the other requests. */
  readonly isRetryAfterRespected?: boolean;
  /** The number of consecutive failures that abandon the rest of a list. Default: no limit. */
  readonly maxConsecutiveFailures?: number;
}

/** The reason why the body of a success is unusable. */
export type BodyProblem =
  | "empty"
  | "empty deletion"
  | "truncated"
  | "html"
  | "content type"
  | "shape"
  | "envelope"
  | "too large";

/**
 * An observed response: a status that isn't a success, an unusable body of a success, or the code of a connection
 * failure.
 */
export type ResponseObservation =
  | { readonly status: number; readonly headers?: ResponseHeaders }
  | { readonly body: BodyProblem }
  | { readonly failure: string };

/** The classification of a response. */
export interface ResponseClass {
  /** The response, as the docs describe it. */
  readonly response: string;
  readonly code: ErrorCode;
  /** Whether the same request may succeed on retry. */
  readonly isTransient: boolean;
  readonly scope: FailureScope;
  /** Whether a write may have taken effect. */
  readonly outcomeUnknown: boolean;
  /** The wait that the service requested, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** TLS errors for certificates of an authority that this machine doesn't know. */
export const UNKNOWN_AUTHORITY_CODES: readonly string[] = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
];

/** TLS errors for a peer that doesn't use TLS. */
export const NOT_TLS_CODES: readonly string[] = ["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"];

/** TLS errors that no retry resolves. */
export const BAD_CERTIFICATE_CODES: readonly string[] = [
  "CERT_NOT_YET_VALID",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  ...UNKNOWN_AUTHORITY_CODES,
  ...NOT_TLS_CODES,
];

/** Failures before a request is sent. */
const NOT_CONNECTED_CODES = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
];

type ClassificationRow = readonly [
  response: string,
  /** Statuses (`4xx` for all others of the kind), body problems, or failure codes (`*` for all others). */
  signs: readonly (number | string)[],
  code: ErrorCode,
  action: "retry" | "fail",
  scope: FailureScope,
  outcomeOfWrite: "known" | "unknown",
];

const TABLE: readonly ClassificationRow[] = [
  ["a redirect (3xx)", ["3xx"], "ERR_REDIRECT", "fail", "content", "known"],
  ["400", [400], "ERR_BAD_REQUEST", "fail", "request", "known"],
  ["401, 403", [401, 403], "ERR_AUTH", "fail", "tenant", "known"],
  ["404", [404], "ERR_NOT_FOUND", "fail", "request", "known"],
  ["408", [408], "ERR_UNEXPECTED_STATUS", "retry", "service", "unknown"],
  ["409", [409], "ERR_CONFLICT", "fail", "request", "known"],
  [RATE_LIMIT_STATUSES.join(", "), RATE_LIMIT_STATUSES, "ERR_RATE_LIMITED", "retry", "rate limit", "known"],
  ["any other 4xx", ["4xx"], "ERR_UNEXPECTED_STATUS", "fail", "request", "known"],
  ["500, 502, 503, 504", [500, 502, 503, 504], "ERR_SERVER", "retry", "service", "unknown"],
  ["any other 5xx", ["5xx"], "ERR_SERVER", "fail", "service", "unknown"],
  ["2xx, with no body", ["empty"], "ERR_EMPTY_BODY", "fail", "content", "unknown"],
  ["2xx to a DELETE, with no body", ["empty deletion"], "ERR_EMPTY_BODY", "retry", "content", "unknown"],
  ["2xx, with a truncated or broken body", ["truncated"], "ERR_TRUNCATED_BODY", "retry", "service", "unknown"],
  ["2xx, with an HTML page", ["html"], "ERR_HTML_RESPONSE", "fail", "content", "unknown"],
  ["2xx, with another content type or encoding", ["content type"], "ERR_CONTENT_TYPE", "fail", "content", "unknown"],
  ["2xx, with an unexpected JSON shape", ["shape"], "ERR_INVALID_RESPONSE", "fail", "content", "unknown"],
  ["2xx, with an unexpected envelope", ["envelope"], "ERR_WRONG_ENVELOPE", "fail", "content", "unknown"],
  ["2xx, with a body that is too large", ["too large"], "ERR_RESPONSE_TOO_LARGE", "fail", "content", "unknown"],
  ["no complete response in time", ["timeout"], "ERR_TIMEOUT", "retry", "service", "unknown"],
  ["no connection", NOT_CONNECTED_CODES, "ERR_NETWORK", "retry", "service", "known"],
  ["an invalid certificate, or no TLS", BAD_CERTIFICATE_CODES, "ERR_NETWORK", "fail", "service", "known"],
  ["a proxy that refuses the tunnel (4xx)", ["proxy 4xx"], "ERR_NETWORK", "fail", "service", "known"],
  ["a failing or unreachable proxy", ["proxy 5xx", "proxy"], "ERR_NETWORK", "retry", "service", "known"],
  ["a reset, or any other connection failure", ["*"], "ERR_NETWORK", "retry", "service", "unknown"],
  ["not sent: the client is closed", ["closed"], "ERR_NETWORK", "fail", "service", "known"],
  ["not sent: the circuit breaker is open", [], "ERR_CIRCUIT_OPEN", "fail", "service", "known"],
  ["not sent: the rate limiter refused the request", [], "ERR_NO_TOKEN", "fail", "tenant", "known"],
  ["not sent: the run was cancelled", [], "ERR_CANCELLED", "fail", "tenant", "known"],
];

/** All response classes, in the order of the docs. */
export const RESPONSE_CLASSES: readonly ResponseClass[] = TABLE.map(([response, , code, action, scope, outcome]) => ({
  response,
  code,
  isTransient: action === "retry",
  scope,
  outcomeUnknown: outcome === "unknown",
}));

const BY_SIGN = new Map(
  TABLE.flatMap(([, signs], index) => signs.map((sign) => [sign, RESPONSE_CLASSES[index] as ResponseClass])),
);

const BY_CODE = Map.groupBy(RESPONSE_CLASSES, ({ code }): string => code);

export function classifyResponse(observation: ResponseObservation): ResponseClass {
  if (!("status" in observation)) {
    const sign = "body" in observation ? observation.body : observation.failure;
    return (BY_SIGN.get(sign) ?? BY_SIGN.get("*")) as ResponseClass;
  }
  const { status, headers = {} } = observation;
  const kind = `${Math.min(5, Math.floor(status / 100))}xx`;
  const responseClass = (BY_SIGN.get(status) ?? BY_SIGN.get(kind)) as ResponseClass;
  return FAILURE_SCOPES[responseClass.scope].isRetryAfterRespected
    ? { ...responseClass, retryAfterMs: parseRetryAfterMs({ headers }) }
    : responseClass;
}

/**
 * Returns the scope of an error that is known only by its code; undefined for a code with several scopes or without
 * one.
 */
export function getScopeByCode(code: string): FailureScope | undefined {
  const [scope, ...others] = new Set(BY_CODE.get(code)?.map((responseClass) => responseClass.scope));
  return others.length === 0 ? scope : undefined;
}
