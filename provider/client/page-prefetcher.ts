import { ServiceError } from "./errors";
import type { PagedList, Stopwatch } from "./paged-list";
import type { Page } from "./schemas";

/** The maximum number of pages in flight. */
export const MAX_CONCURRENT_PAGES = 8;
/** Lists of at most this many pages are read one page after another: at 50 ms a page, concurrency would save less than half a second. */
export const MAX_SEQUENTIAL_PAGES = 10;

/**
 * Fetches the pages of one read in order, and prefetches the next ones while it waits.
 *
 * Only the page that the read waits for is retried. A prefetched page is requested once; if that fails, it is requested again when its
 * turn comes, and the pages after it one after another. So an outage has no more retries and failure bursts than without prefetching.
 */
export class PagePrefetcher<Item> {
  readonly #list: PagedList<Item>;
  readonly #stopwatch: Stopwatch;
  readonly #prefetched = new Map<number, Promise<Page<Item> | undefined>>();
  readonly #abort = new AbortController();
  /** Rejects with the first error that applies to every page. */
  readonly #fatal = Promise.withResolvers<never>();
  #lastPage = 0;
  #width = MAX_CONCURRENT_PAGES;
  #hasPrefetched = false;

  constructor(list: PagedList<Item>, stopwatch: Stopwatch) {
    this.#list = list;
    this.#stopwatch = stopwatch;
    // Otherwise an error after the last page would end the process.
    this.#fatal.promise.catch(() => {});
  }

  /** Whether any page was used that was requested before the page in front of it had arrived. */
  get hasPrefetched(): boolean {
    return this.#hasPrefetched;
  }

  /** Allows prefetching up to this page. */
  allowUpTo(lastPage: number): void {
    this.#lastPage = lastPage;
  }

  async fetch(page: number): Promise<Page<Item>> {
    const request = this.#prefetched.get(page) ?? this.#fetch(page);
    this.#prefetched.delete(page);
    this.#prefetchAfter(page);
    const response = await this.#raceWithFatal(request);
    if (response !== undefined) {
      this.#width = Math.min(this.#width * 2, MAX_CONCURRENT_PAGES);
      return response;
    }
    this.#width = 1;
    return await this.#raceWithFatal(this.#fetch(page));
  }

  /** Cancels the pages in flight. */
  stop(): void {
    if (this.#hasPrefetched) this.#abort.abort(new PageRequestCancelledError());
  }

  async #raceWithFatal<Response>(request: Promise<Response>): Promise<Response> {
    return await Promise.race([request, this.#fatal.promise]);
  }

  async #fetch(page: number): Promise<Page<Item>> {
    return await this.#list.fetchPage(page, this.#stopwatch, { signal: this.#abort.signal, isPrefetch: false });
  }

  #prefetchAfter(page: number): void {
    const last = Math.min(page + this.#width - 1, this.#lastPage);
    for (let next = page + 1; next <= last; next += 1) {
      if (!this.#prefetched.has(next)) this.#prefetched.set(next, this.#prefetch(next));
    }
  }

  /** Returns undefined if it fails. */
  async #prefetch(page: number): Promise<Page<Item> | undefined> {
    this.#hasPrefetched = true;
    const stopwatch: Stopwatch = { elapsedMs: 0 };
    try {
      return await this.#list.fetchPage(page, stopwatch, { signal: this.#abort.signal, isPrefetch: true });
    } catch (error) {
      // Requests that were sent before the failure belong to its burst; later ones would be further failures.
      this.#width = 1;
      if (error instanceof ServiceError && error.scope === "tenant") this.#fatal.reject(error);
      return undefined;
    } finally {
      // Their durations overlap.
      this.#stopwatch.elapsedMs += stopwatch.elapsedMs / MAX_CONCURRENT_PAGES;
    }
  }
}

/** The read ended, so its pages in flight are cancelled. */
export class PageRequestCancelledError extends Error {}
