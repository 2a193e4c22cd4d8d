import { CIRCUIT_FAILURE_BURSTS, CIRCUIT_OPEN_MS } from "./retry-policy";
import type { Time } from "./time";

/** A failure with its message as it was then: each call adds its own notes to it later. */
export interface LastFailure {
  readonly error: Error;
  readonly message: string;
}

export interface CircuitBreakerOptions extends Pick<Time, "now"> {
  /** How many consecutive failure bursts open it. Default: as many as the retry policy says. */
  readonly bursts?: number;
}

/**
 * Keeps requests from a service that only fails. Consecutive failure bursts open it, and it lets no request through.
 * After a while it is half-open, and lets one probe through.
 *
 * Requests that were under way when one failed belong to its burst: an outage of a moment that breaks 64 requests counts once.
 */
export class CircuitBreaker {
  readonly #now: Time["now"];
  readonly #threshold: number;
  #currentBurst = 0;
  #consecutiveBursts = 0;
  #lastFailure: LastFailure | undefined;
  #probeAt = 0;

  constructor({ now, bursts = CIRCUIT_FAILURE_BURSTS }: CircuitBreakerOptions) {
    this.#now = now;
    this.#threshold = bursts;
  }

  get state(): "closed" | "open" | "half-open" {
    if (this.#consecutiveBursts < this.#threshold) return "closed";
    return this.#now() < this.#probeAt ? "open" : "half-open";
  }

  /** The last failure while it is open. Lets no probe through, unlike {@link admit}. */
  get openedBy(): LastFailure | undefined {
    return this.state === "open" ? this.#lastFailure : undefined;
  }

  /** Undefined when a request may be sent; else the failure because of which it may not. */
  admit(): LastFailure | undefined {
    // The next probe goes when this one was answered, or long after.
    if (this.state === "half-open") this.#probeAt = this.#now() + CIRCUIT_OPEN_MS;
    else return this.openedBy;
    return undefined;
  }

  /** The burst of a request that is sent now. */
  get burst(): number {
    return this.#currentBurst;
  }

  close(): void {
    this.#consecutiveBursts = 0;
  }

  failed(error: Error, currentBurst = this.#currentBurst): void {
    this.#lastFailure = { error, message: error.message };
    if (currentBurst !== this.#currentBurst) return;
    this.#currentBurst += 1;
    this.#consecutiveBursts += 1;
    if (this.#consecutiveBursts >= this.#threshold) this.#probeAt = this.#now() + CIRCUIT_OPEN_MS;
  }
}
