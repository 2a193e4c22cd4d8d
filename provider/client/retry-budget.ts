import { MAX_RETRY_BUDGET, REFILL_A_SUCCESS, RETRY_BUDGET } from "./retry-policy";

/** How many retries a tenant's client has left, over all its calls: a service in trouble is not asked four times as much. */
export class RetryBudget {
  #remaining = RETRY_BUDGET;

  /** Takes one retry, if there is one. */
  take(): boolean {
    if (this.#remaining < 1) return false;
    this.#remaining -= 1;
    return true;
  }

  /** A request succeeded. */
  refill(): void {
    this.#remaining = Math.min(MAX_RETRY_BUDGET, this.#remaining + REFILL_A_SUCCESS);
  }
}
