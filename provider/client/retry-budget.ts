import { INITIAL_RETRY_BUDGET, MAX_RETRY_BUDGET, REFILL_PER_SUCCESS } from "./retry-policy";

/**
 * The remaining retries of a tenant's client, over all its calls. The budget keeps retries from multiplying the load on a
 * failing service.
 */
export class RetryBudget {
  #remaining = INITIAL_RETRY_BUDGET;

  /** Consumes one retry, if there is one. */
  consume(): boolean {
    if (this.#remaining < 1) return false;
    this.#remaining -= 1;
    return true;
  }

  /** Refills the budget after a successful request. */
  refill(): void {
    this.#remaining = Math.min(MAX_RETRY_BUDGET, this.#remaining + REFILL_PER_SUCCESS);
  }
}
