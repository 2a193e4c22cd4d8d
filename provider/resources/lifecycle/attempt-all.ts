import { CircuitOpenError, ServiceError } from "../../client";
import { SCOPES } from "../../client/response-classification";
import { EmailSecurityError } from "../../settings/email-security-error";
import { TimeIsOverError } from "../../tenant";

export interface Failed<Item> {
  readonly item: Item;
  readonly error: unknown;
}

/** How many items are processed concurrently. The tenant limits the number of requests. */
const AT_A_TIME = 64;

/**
 * Processes many items independently: a failed item doesn't prevent the others. If the service fails or refuses the key, the
 * rest is left for the next run.
 */
export class AttemptAll<Item> {
  readonly failed: Failed<Item>[] = [];
  readonly #atATime: number;
  #inARow = 0;
  #givenUp: Error | undefined;

  /** @param options the concurrency, if it isn't the default of 64. */
  constructor(options: { readonly atATime?: number } = {}) {
    this.#atATime = options.atATime ?? AT_A_TIME;
  }

  async all(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
    const queue = items.values();
    const worker = async (): Promise<void> => {
      for (const item of queue) await this.#attempt(item, work);
    };
    await Promise.all(Array.from({ length: Math.min(this.#atATime, items.length) }, worker));
  }

  async #attempt(item: Item, work: (item: Item) => Promise<void>): Promise<void> {
    try {
      if (this.#givenUp !== undefined) {
        throw new NotTriedError(this.#givenUp);
      }
      await work(item);
      this.#inARow = 0;
    } catch (error) {
      this.failed.push({ item, error });
      const limit = abandonsAfter(error);
      if (limit === undefined) return;
      this.#inARow += 1;
      if (this.#inARow >= limit) this.#givenUp ??= error as Error;
    }
  }
}

/** An item that was left for the next run after others had failed. `ERR_NOT_TRIED` */
export class NotTriedError extends EmailSecurityError {
  constructor(cause: Error) {
    super("ERR_NOT_TRIED", `not tried, after others had failed: ${cause.message}`, { cause });
  }
}

/** Returns how many such consecutive failures abandon the rest; undefined if the failure concerns the item only. */
function abandonsAfter(error: unknown): number | undefined {
  if (error instanceof CircuitOpenError || error instanceof TimeIsOverError) return 1;
  return error instanceof ServiceError ? SCOPES[error.scope].abandonsListAfter : undefined;
}
