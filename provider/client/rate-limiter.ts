/**
 * A rate limit for the requests to a service. All tenants of one address share it, across all processes and machines of a
 * rollout.
 */
export interface RequestLimiter {
  /**
   * Waits for a rate limit token. The caller must send its request immediately, or not at all.
   *
   * @throws {Error} if no further request is allowed, for example because the run has lost its lock on the tenant. The
   * message gives the reason as the rest of a sentence. The call then fails with a {@link RateLimitTokenError}
   * (`ERR_NO_TOKEN`), and nothing is sent.
   */
  acquire(): Promise<void>;
  /**
   * Reports that the service refused a request (429, or Retry-After). Pauses the rate limit for all clients for this
   * many milliseconds.
   */
  reportThrottled(pauseMs: number): void;
}

/** The error of {@link RequestLimiter.acquire} after a run is cancelled: the call then fails with `ERR_CANCELLED`. */
export class RunCancelledError extends Error {}

/** A rate limiter without a limit. */
export const UNLIMITED_REQUESTS: RequestLimiter = { acquire: () => Promise.resolve(), reportThrottled: () => {} };
