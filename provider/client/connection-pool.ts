import PQueue from "p-queue";
import type { Dispatcher } from "undici";
import { loadDispatcher } from "./dispatcher";

/** The initial number of concurrent requests to one address: the lists of 16 tenants. */
const INITIAL_CONCURRENCY = 48;
/** The maximum, as for a single tenant. */
const MAX_CONCURRENCY = 64;
const INCREASE = 4;

/** The connections that the clients of many tenants share: one pool and one concurrency limit per address. */
export class ConnectionPool implements AsyncDisposable {
  readonly #addresses = new Map<string, AddressConnections>();

  getAddress(baseUrl: string): AddressConnections {
    const { origin } = new URL(baseUrl);
    const address = this.#addresses.get(origin) ?? new AddressConnections(baseUrl);
    this.#addresses.set(origin, address);
    return address;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#addresses.values()].map(async (address) => await address.close()));
  }
}

/**
 * The connections to one address. A tenant reuses the connections of others, which saves it the handshakes. The concurrency limit covers all
 * tenants together: it halves when the service throttles or fails, and grows again while requests wait and succeed.
 */
export class AddressConnections {
  readonly #baseUrl: string;
  readonly #queue = new PQueue({ concurrency: INITIAL_CONCURRENCY });
  #dispatcher: Promise<Dispatcher> | undefined;
  #shrinkCount = 0;
  /** The responses since the limit last changed. */
  #responseCount = 0;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** The current concurrency limit. */
  get concurrency(): number {
    return this.#queue.concurrency;
  }

  async getDispatcher(): Promise<Dispatcher> {
    this.#dispatcher ??= loadDispatcher(this.#baseUrl);
    return await this.#dispatcher;
  }

  /** Runs an attempt when fewer requests than the limit are in flight. */
  async run<T>(attempt: () => Promise<T>): Promise<T> {
    return await this.#queue.add(attempt);
  }

  /** Begins a request. Call the result once, with whether the service could bear the request. */
  startRequest(): (isOverloaded: boolean) => void {
    const shrinkCount = this.#shrinkCount;
    return (isOverloaded) => {
      // Responses to requests from before the last decrease don't count, so that concurrent failures count as one.
      if (shrinkCount !== this.#shrinkCount) return;
      if (isOverloaded) this.#shrink();
      else this.#recordResponse();
    };
  }

  async close(): Promise<void> {
    await (await this.#dispatcher)?.close();
  }

  #recordResponse(): void {
    this.#responseCount += 1;
    if (this.#responseCount < this.concurrency) return;
    this.#responseCount = 0;
    if (this.#queue.size > 0) this.#queue.concurrency = Math.min(MAX_CONCURRENCY, this.concurrency + INCREASE);
  }

  #shrink(): void {
    this.#shrinkCount += 1;
    this.#responseCount = 0;
    this.#queue.concurrency = Math.max(1, Math.floor(this.concurrency / 2));
  }
}
