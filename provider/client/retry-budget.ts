import { MAX_RETRY_BUDGET, REFILL_A_SUCCESS, RETRY_BUDGET } from "./retry-policy";

/**
 * The remaining retries of a tenant's client, over all its calls. The budget keeps retries from multiplying the load on a
 * failing service.
 */
export class RetryBudget {
  #remaining = RETRY_BUDGET;

  /** Consumes one retry, if there is one. */
  take(): boolean {
    if (this.#remaining < 1) return false;
    this.#remaining -= 1;
    return true;
  }

  /** Refills the budget after a successful request. */
  refill(): void {
    this.#remaining = Math.min(MAX_RETRY_BUDGET, this.#remaining + REFILL_A_SUCCESS);
  }
}
