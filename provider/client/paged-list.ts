import type { Page } from "./schemas";

/**
 * The total duration of a read's requests so far, in milliseconds, without waits for rate limit tokens and
 * processing of items.
 */
export interface Stopwatch {
  elapsedMs: number;
}

/** How a page of a read is requested. */
export interface PageRequest {
  /** Cancels the request. */
  readonly signal: AbortSignal;
  /** Whether it is requested before it is needed, and not retried. */
  readonly isPrefetch: boolean;
}

export interface PagedList<Item> {
  /** The name of the list in errors. */
  readonly name: string;
  readonly fetchPage: (page: number, stopwatch: Stopwatch, fetch?: PageRequest) => Promise<Page<Item>>;
  /** Returns the id that distinguishes an item; undefined if nothing does. */
  readonly getIdentity: (item: Item) => string | undefined;
  /** The requested number of items per page. Default: the service's. */
  readonly pageSize?: number;
  /** Returns when an item was created. Default: unknown, and every page is read after the one before. */
  readonly getCreatedAt?: (item: Item) => string | undefined;
  /** The maximum number of restarts if the list changes during a read. Default: 5. */
  readonly maxAttempts?: number;
}
