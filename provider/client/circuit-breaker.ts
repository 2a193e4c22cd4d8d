import { CIRCUIT_FAILURE_BURSTS, CIRCUIT_OPEN_MS } from "./retry-policy";
import type { Time } from "./time";

/** A failure with its message at that time: each call appends its own notes later. */
export interface LastFailure {
  readonly error: Error;
  readonly message: string;
}

export interface CircuitBreakerOptions extends Pick<Time, "now"> {
  /** The number of consecutive failure bursts that open it. Default: the value of the retry policy. */
  readonly threshold?: number;
}

/**
 * Blocks requests to a service that keeps failing. Consecutive failure bursts open it; after a while it becomes half-open and
 * admits one probe.
 *
 * Requests in flight at the time of a failure belong to its burst, so a brief outage that breaks 64 requests counts once.
 */
export class CircuitBreaker {
  readonly #now: Time["now"];
  readonly #threshold: number;
  #currentBurst = 0;
  #consecutiveBursts = 0;
  #lastFailure: LastFailure | undefined;
  #probeAt = 0;

  constructor({ now, threshold = CIRCUIT_FAILURE_BURSTS }: CircuitBreakerOptions) {
    this.#now = now;
    this.#threshold = threshold;
  }

  get state(): "closed" | "open" | "half-open" {
    if (this.#consecutiveBursts < this.#threshold) return "closed";
    return this.#now() < this.#probeAt ? "open" : "half-open";
  }

  /** The last failure while it is open. Lets no probe through, unlike {@link admit}. */
  get openingFailure(): LastFailure | undefined {
    return this.state === "open" ? this.#lastFailure : undefined;
  }

  /** Returns undefined if a request may be sent, otherwise the failure that opened the circuit breaker. */
  admit(): LastFailure | undefined {
    // The next probe is sent after the response to this one, or after a long wait.
    if (this.state === "half-open") this.#probeAt = this.#now() + CIRCUIT_OPEN_MS;
    else return this.openingFailure;
    return undefined;
  }

  /** The burst that a request sent now belongs to. */
  get burst(): number {
    return this.#currentBurst;
  }

  close(): void {
    this.#consecutiveBursts = 0;
  }

  recordFailure(error: Error, requestBurst = this.#currentBurst): void {
    this.#lastFailure = { error, message: error.message };
    if (requestBurst !== this.#currentBurst) return;
    this.#currentBurst += 1;
    this.#consecutiveBursts += 1;
    if (this.#consecutiveBursts >= this.#threshold) this.#probeAt = this.#now() + CIRCUIT_OPEN_MS;
  }
}
