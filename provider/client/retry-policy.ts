import type { ServiceError } from "./errors";

/*
 * How often, how soon and how long a request is retried. `response-classification.ts` decides which failures are
 * retryable; docs/explanation/retries-and-outcome-checks.md explains both.
 */

/** How many attempts a call that fails gets. */
export const MAX_ATTEMPTS = 4;
/** How many attempts a rate-limited call gets: a refusal isn't a failure. */
export const MAX_RATE_LIMITED_ATTEMPTS = 8;
/** How many attempts an addition gets whose outcome has to be checked. */
export const MAX_VERIFIED_ATTEMPTS = 3;
/** No attempt begins later than this after the first, in milliseconds. */
export const RETRY_DEADLINE_MS = 120_000;

/** The backoff before the second attempt, in milliseconds. */
const BASE_DELAY_MS = 250;
/** The longest backoff that the service didn't ask for. */
const MAX_DELAY_MS = 30_000;

/** The retry budget of a tenant's client: at first, per success, and at most. */
export const INITIAL_RETRY_BUDGET = 10;
export const REFILL_PER_SUCCESS = 0.1;
export const MAX_RETRY_BUDGET = 100;

/** So many consecutive failure bursts open the circuit breaker, for so many milliseconds. */
export const CIRCUIT_FAILURE_BURSTS = 6;
export const CIRCUIT_OPEN_MS = 30_000;

/**
 * What follows a failure. A second PATCH or DELETE does no harm, since it sets what is declared. A POST that may have
 * taken effect is not retried: the tenant reads its list, and sends what is missing.
 */
export function getFailureHandling(
  { isTransient, outcomeUnknown }: Pick<ServiceError, "isTransient" | "outcomeUnknown">,
  method: string,
): "retry" | "outcome check" | "fail" {
  if (outcomeUnknown && method === "POST") return "outcome check";
  return isTransient ? "retry" : "fail";
}

/** The backoff after so many consecutive failures, in milliseconds, shortened by up to a half. @param random from 0 to 1. */
export function computeBackoffMs(
  failures: number,
  random: number,
  { baseMs = BASE_DELAY_MS, maxMs = MAX_DELAY_MS } = {},
): number {
  return Math.min(maxMs, baseMs * 2 ** (failures - 1)) * (0.5 + random / 2);
}
