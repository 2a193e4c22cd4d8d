import { CircuitOpenError, ServiceError } from "../../client";
import { FAILURE_SCOPES } from "../../client/response-classification";
import { EmailSecurityError } from "../../model/email-security-error";
import { OperationTimeoutError } from "../../tenant";

export interface FailedItem<Item> {
  readonly item: Item;
  readonly error: unknown;
}

/** The number of items to process concurrently. The client limits the concurrent requests. */
const DEFAULT_CONCURRENCY = 64;

/**
 * Processes many items independently: a failed item doesn't prevent the others. If the service fails or refuses the key, the
 * rest is left for the next run.
 */
export class BulkRunner<Item> {
  readonly failures: FailedItem<Item>[] = [];
  readonly #concurrency: number;
  #consecutiveFailures = 0;
  #abandonCause: Error | undefined;

  /** @param options.concurrency the number of items to process concurrently. Default: 64. */
  constructor(options: { readonly concurrency?: number } = {}) {
    this.#concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
  }

  async run(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
    const queue = items.values();
    const processQueue = async (): Promise<void> => {
      for (const item of queue) await this.#attempt(item, work);
    };
    await Promise.all(Array.from({ length: Math.min(this.#concurrency, items.length) }, processQueue));
  }

  async #attempt(item: Item, work: (item: Item) => Promise<void>): Promise<void> {
    try {
      if (this.#abandonCause !== undefined) {
        throw new NotAttemptedError(this.#abandonCause);
      }
      await work(item);
      this.#consecutiveFailures = 0;
    } catch (error) {
      this.failures.push({ item, error });
      const limit = getMaxConsecutiveFailures(error);
      if (limit === undefined) return;
      this.#consecutiveFailures += 1;
      if (this.#consecutiveFailures >= limit) this.#abandonCause ??= error as Error;
    }
  }
}

/** The error of an item that was not attempted, because others failed (`ERR_NOT_ATTEMPTED`). */
export class NotAttemptedError extends EmailSecurityError {
  constructor(cause: Error) {
    super("ERR_NOT_ATTEMPTED", `not attempted, because others failed: ${cause.message}`, { cause });
  }
}

/** Returns the number of consecutive failures after which the rest is skipped. Undefined for failures of a single item, which don't count. */
function getMaxConsecutiveFailures(error: unknown): number | undefined {
  if (error instanceof CircuitOpenError || error instanceof OperationTimeoutError) return 1;
  return error instanceof ServiceError ? FAILURE_SCOPES[error.scope].maxConsecutiveFailures : undefined;
}
