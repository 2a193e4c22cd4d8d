import type { ServiceError } from "./errors";

/*
 * The limits and delays of retries. `response-classification.ts` decides which failures are retryable;
 * docs/explanation/retries-and-outcome-checks.md explains both.
 */

/** The maximum number of attempts of a failing call. */
export const MAX_ATTEMPTS = 4;
/** The maximum number of attempts of a rate-limited call. It is higher, because a refusal isn't a failure. */
export const MAX_RATE_LIMITED_ATTEMPTS = 8;
/** The maximum number of attempts of an addition whose outcome has to be verified. */
export const MAX_VERIFIED_ATTEMPTS = 3;
/** The deadline for starting an attempt, in milliseconds after the first. */
export const RETRY_DEADLINE_MS = 120_000;

/** The backoff before the second attempt, in milliseconds. */
export const BASE_DELAY_MS = 250;
/** The maximum backoff, in milliseconds, unless the service asks for more. */
const MAX_DELAY_MS = 30_000;

/** The retry budget of a tenant's client: initial, per success, and maximum. */
export const INITIAL_RETRY_BUDGET = 10;
export const REFILL_PER_SUCCESS = 0.1;
export const MAX_RETRY_BUDGET = 100;

/**
 * The number of consecutive failure bursts that open the circuit breaker, and how long it stays open, in milliseconds.
 */
export const CIRCUIT_FAILURE_BURSTS = 6;
export const CIRCUIT_OPEN_MS = 30_000;

/**
 * Returns how to handle a failure. PATCH and DELETE are safe to retry, because they set what is declared. A POST that
 * may have taken effect isn't retried: the tenant reads its list and sends only missing items.
 */
export function getFailureHandling(
  { isTransient, outcomeUnknown }: Pick<ServiceError, "isTransient" | "outcomeUnknown">,
  method: string,
): "retry" | "outcome check" | "fail" {
  if (outcomeUnknown && method === "POST") return "outcome check";
  return isTransient ? "retry" : "fail";
}

/**
 * Returns the backoff after this many consecutive failures, in milliseconds, with a jitter of up to half.
 *
 * @param random from 0 to 1.
 */
export function computeBackoffMs(
  failures: number,
  random: number,
  { baseMs = BASE_DELAY_MS, maxMs = MAX_DELAY_MS } = {},
): number {
  return Math.min(maxMs, baseMs * 2 ** (failures - 1)) * (0.5 + random / 2);
}
