import { Refusal, SandboxError } from "./contract/errors";

/** How often one tenant may ask (reference, "Limits": "Requests are rate limited", and no numbers). */
export interface RateLimit {
  /** Requests per second; less than one is fine. */
  perSecond: number;
  /** How many may come at once after a rest. Default: those of a second, and at least one. */
  burst?: number;
  /** What `Retry-After` holds: seconds (default), an HTTP date, or there is none. */
  retryAfter?: RetryAfter;
}

/** The form of `Retry-After` in a refusal for too many requests. */
export type RetryAfter = "seconds" | "date" | "none";

/** A bucket a tenant: each request takes a token, and tokens come back as time goes by on the sandbox's clock. */
export class RateLimiter {
  readonly #limit: Required<RateLimit>;
  readonly #buckets = new Map<number, { tokens: number; atMs: number }>();

  /** @throws SandboxError `ERR_SANDBOX_OPTION` for a rate that is none. */
  constructor({ perSecond, burst = Math.max(1, perSecond), retryAfter = "seconds" }: RateLimit) {
    if (!(perSecond > 0 && Number.isFinite(perSecond)) || !(burst >= 1)) {
      throw new SandboxError(
        "ERR_SANDBOX_OPTION",
        `A rate limit of ${perSecond} a second, ${burst} at once, lets no request through: give positive numbers.`,
      );
    }
    this.#limit = { perSecond, burst, retryAfter };
  }

  /** @throws Refusal 429 when the tenant has asked too often. */
  take(tenantId: number, now: Date): void {
    const { perSecond, burst } = this.#limit;
    const nowMs = now.getTime();
    const bucket = this.#buckets.get(tenantId) ?? { tokens: burst, atMs: nowMs };
    const refilled = (Math.max(0, nowMs - bucket.atMs) / 1_000) * perSecond;
    bucket.tokens = Math.min(burst, bucket.tokens + refilled);
    bucket.atMs = nowMs;
    this.#buckets.set(tenantId, bucket);
    // A hair less than one is one: the sum of many small refills.
    if (bucket.tokens < 1 - 1e-9) {
      const waitMs = ((1 - bucket.tokens) / perSecond) * 1_000;
      throw new Refusal(429, `too many requests: the limit is ${perSecond} a second`, {
        headers: this.#retryAfter(nowMs, waitMs),
      });
    }
    bucket.tokens = Math.max(0, bucket.tokens - 1);
  }

  /** Both forms know whole seconds only: whoever waits for them has waited long enough. */
  #retryAfter(nowMs: number, waitMs: number): Record<string, string> {
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
