import { SandboxError, SandboxHttpError } from "./contract/errors";

/** The rate limit of each tenant. The reference, "Limits", says "Requests are rate limited" but gives no numbers. */
export interface RateLimit {
  /** Requests per second; can be less than one. */
  perSecond: number;
  /** Maximum number of requests in a burst. Default: the requests of one second, but at least one. */
  burst?: number;
  /** The form of `Retry-After`: seconds (default), an HTTP date, or no header. */
  retryAfter?: RetryAfter;
}

/** The form of `Retry-After` in a 429 response. */
export type RetryAfter = "seconds" | "date" | "none";

/** A token bucket for each tenant. Each request takes a token; tokens are refilled over time, by the sandbox's clock. */
export class RateLimiter {
  readonly #limit: Required<RateLimit>;
  readonly #buckets = new Map<number, { tokens: number; atMs: number }>();

  /** @throws SandboxError `ERR_SANDBOX_OPTION` if the rate is invalid. */
  constructor({ perSecond, burst = Math.max(1, perSecond), retryAfter = "seconds" }: RateLimit) {
    if (!(perSecond > 0 && Number.isFinite(perSecond)) || !(burst >= 1)) {
      throw new SandboxError(
        "ERR_SANDBOX_OPTION",
        `A rate limit of ${perSecond} per second, with a burst of ${burst}, allows no requests: specify positive numbers.`,
      );
    }
    this.#limit = { perSecond, burst, retryAfter };
  }

  /**
   * Takes a token for one request.
   *
   * @throws SandboxHttpError 429 if no token is left.
   */
  take(tenantId: number, now: Date): void {
    const { perSecond, burst } = this.#limit;
    const nowMs = now.getTime();
    const bucket = this.#buckets.get(tenantId) ?? { tokens: burst, atMs: nowMs };
    const refilled = (Math.max(0, nowMs - bucket.atMs) / 1_000) * perSecond;
    bucket.tokens = Math.min(burst, bucket.tokens + refilled);
    bucket.atMs = nowMs;
    this.#buckets.set(tenantId, bucket);
    // Rounding errors of many small refills can leave slightly less than one token.
    if (bucket.tokens < 1 - 1e-9) {
      const waitMs = ((1 - bucket.tokens) / perSecond) * 1_000;
      throw new SandboxHttpError(429, `too many requests: the limit is ${perSecond} per second`, {
        headers: this.#buildRetryAfterHeader(nowMs, waitMs),
      });
    }
    bucket.tokens = Math.max(0, bucket.tokens - 1);
  }

  /** Both forms have a resolution of one second, so the delay is rounded up. */
  #buildRetryAfterHeader(nowMs: number, waitMs: number): Record<string, string> {
    switch (this.#limit.retryAfter) {
      case "none":
        return {};
      case "seconds":
        return { "Retry-After": String(Math.max(1, Math.ceil(waitMs / 1_000))) };
      case "date":
        return { "Retry-After": new Date(Math.ceil((nowMs + waitMs) / 1_000) * 1_000).toUTCString() };
    }
  }
}
