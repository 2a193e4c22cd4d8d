import {
  AuthenticationError,
  CircuitOpenError,
  NetworkError,
  PermitRefusedError,
  RateLimitedError,
  ServerError,
  TimeoutError,
} from "../../client";
import { EmailSecurityError } from "../../settings/email-security-error";
import { TimeIsOverError } from "../../tenant";

/** One that failed. */
export interface Failed<Item> {
  readonly item: Item;
  readonly error: unknown;
}

/** How many are worked on at a time. How many requests are under way is the tenant's to limit. */
const AT_A_TIME = 64;

/** After so many failures in a row that are the service's and not the item's, the rest is not tried any more. */
const GIVE_UP_AFTER = 10;

/**
 * Does many things of a kind, each for itself: one that fails keeps no other from being done. Where it is the service
 * that fails, or the key that is refused, the rest is left for the next run.
 */
export class AttemptAll<Item> {
  readonly failed: Failed<Item>[] = [];
  readonly #atATime: number;
  #inARow = 0;
  #givenUp: Error | undefined;

  /** @param options how many are worked on at a time, where it is not the default of 64. */
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
      if (!(error instanceof Error) || !isOfTheService(error)) return;
      this.#inARow += 1;
      const isForAll = FOR_ALL.some((kind) => error instanceof kind);
      if (isForAll || this.#inARow >= GIVE_UP_AFTER) this.#givenUp ??= error;
    }
  }
}

/** What was left for the next run, after others had failed. `ERR_NOT_TRIED` */
export class NotTriedError extends EmailSecurityError {
  constructor(cause: Error) {
    super("ERR_NOT_TRIED", `not tried, after others had failed: ${cause.message}`, { cause });
  }
}

/** What would happen to all others too. */
const FOR_ALL = [AuthenticationError, CircuitOpenError, PermitRefusedError, TimeIsOverError];

function isOfTheService(error: Error): boolean {
  const kinds = [...FOR_ALL, NetworkError, RateLimitedError, ServerError, TimeoutError];
  return kinds.some((kind) => error instanceof kind);
}
