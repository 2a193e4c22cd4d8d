import { inspect } from "node:util";
import type { Dispatcher } from "undici";
import type { z } from "zod";
import { checkBaseUrl, checkProxies, endpointPathHint, loadDispatcher } from "./address";
import { type Answer, isSuccess, readAnswer } from "./answer";
import { ApiKey } from "./api-key";
import { currentBound } from "./bound";
import { describeFailure, observeFailure } from "./connection-failure";
import type { Envelope } from "./envelope";
import type { RequestFacts } from "./errors";
import { exchange, OutOfTime, TooManyBytes } from "./exchange";
import { Pacer } from "./pacer";
import type { Stopwatch } from "./paging";
import { checkPositive } from "./parameters";
import type { Permits } from "./permits";
import { classify } from "./response-classification";
import { serviceTimeMs } from "./retry-after";
import { failureFrom, isWrite } from "./service-failure";
import { realTime, type Time } from "./time";

/** The connection options of a client. */
export interface SettingsClientOptions {
  /** The service's address, such as `https://mail-security.example`. Its path, if any, is kept as a prefix. */
  readonly baseUrl: string;
  /** The tenant's API key. */
  readonly apiKey: string;
  /** The time limit of one request with its complete response, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /**
   * Whether to retry failed requests that are safe to retry: at most four attempts with exponential backoff. Default: true. The
   * docs page on retries describes the whole policy.
   */
  readonly retries?: boolean;
  /** Accepts `http://` for an address that isn't loopback. Default: false, since it sends the key in cleartext. */
  readonly allowInsecureHttp?: boolean;
  /** The maximum response size, in bytes. Default: 16 MiB. */
  readonly maxResponseBytes?: number;
  /** undici's dispatcher. Default: one that follows HTTPS_PROXY and NO_PROXY; loopback is always reached directly. */
  readonly dispatcher?: Dispatcher;
  /**
   * A rate limit shared by the clients of several tenants, asked before every attempt. Default: none; each client adapts to the
   * service.
   */
  readonly permits?: Permits | undefined;
  /** The clock, timers and randomness of the backoff. Default: the process's own. */
  readonly time?: Time;
}

/** Options for this package's own clients. */
export interface TransportOptions extends SettingsClientOptions {
  /** Aborts requests in flight and rejects new ones with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** See {@link PacerOptions}. */
  readonly retryForMs?: number | undefined;
}

export interface Call<T> {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path below the address, with percent-encoded variables. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** Whether the request writes many things, so its latency says nothing about the service. Default: false. */
  readonly isBatch?: boolean;
  readonly envelope: Envelope;
  /** The schema of the response body. */
  readonly answer: z.ZodType<T>;
  /** Counts the duration of the call as part of a reading of several pages. */
  readonly stopwatch?: Stopwatch | undefined;
}

const API_PREFIX = "/api/v1";
/** The path of everything except mail data, below the prefix. */
const SETTINGS = "/settings/";
export const DEFAULT_TIMEOUT_MS = 30_000;
/** The maximum of a timer; a longer one would fire immediately. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * Sends requests and reads the responses. It holds the key and sends it only in the `X-Api-Key` header of requests to the
 * configured address. No error, log line or inspection shows it.
 */
export class Transport {
  /** The service's address without a trailing slash. */
  readonly baseUrl: string;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #addressHint: string | undefined;
  readonly #key: ApiKey;
  readonly #timeoutMs: number;
  readonly #maxResponseBytes: number;
  readonly #givenDispatcher: Dispatcher | undefined;
  readonly #pacer: Pacer;
  readonly #signal: AbortSignal | undefined;
  readonly #isPermitted: boolean;
  #dispatcher: Promise<Dispatcher> | undefined;
  #servedAtMs: number | undefined;
  #isClosed = false;

  /** @throws {ConfigurationError} if the address or the key is invalid. */
  constructor(options: TransportOptions) {
    this.baseUrl = checkBaseUrl(options.baseUrl, options.allowInsecureHttp ?? false);
    this.#origin = new URL(this.baseUrl).origin;
    this.#prefix = this.baseUrl.slice(this.#origin.length);
    this.#addressHint = endpointPathHint(this.baseUrl);
    this.#key = new ApiKey(options.apiKey);
    this.#timeoutMs = checkPositive("timeoutMs", options.timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
    this.#maxResponseBytes = checkPositive(
      "maxResponseBytes",
      options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
    );
    this.#givenDispatcher = options.dispatcher;
    this.#pacer = new Pacer({
      time: options.time ?? realTime,
      retries: options.retries ?? true,
      timeoutMs: this.#timeoutMs,
      retryForMs: options.retryForMs,
      permits: options.permits,
    });
    this.#signal = options.signal;
    this.#isPermitted = options.permits !== undefined;
    if (options.dispatcher === undefined) checkProxies(this.baseUrl, process.env);
  }

  /**
   * Sends a request, with retries, and returns the validated body.
   *
   * @throws {ServiceError} one class per kind of failure, each with a stable code.
   */
  async send<T>(call: Call<T>): Promise<T> {
    const request: RequestFacts = { method: call.method, path: `${API_PREFIX}${call.path}` };
    const kind = call.isBatch ? "batch" : isWrite(request) ? "write" : "read";
    const area = call.path.startsWith(SETTINGS) ? "settings" : "mail";
    const took = (ms: number): void => {
      if (call.stopwatch !== undefined) call.stopwatch.spentMs += ms;
    };
    const paced = { request, what: this.#what(request), kind, area, took, bound: currentBound() } as const;
    // Permits are for immediate use. If modules loaded after that, the permits of the first requests would be used in a burst.
    if (this.#isPermitted && !this.#isClosed) await this.#loaded();
    return await this.#pacer.send(paced, () => this.#sendOnce(call, request));
  }

  /** Consumes one retry of the tenant's budget, for retries that only the caller can make; false if none is left. */
  takeRetry(): boolean {
    return this.#pacer.takeRetry();
  }

  async #sendOnce<T>(call: Call<T>, facts: RequestFacts): Promise<T> {
    if (this.#isClosed) {
      const message = `${this.#what(facts)} was not sent: this client is closed.`;
      throw failureFrom(classify({ failure: "closed" }), message, { request: facts });
    }
    const answer = await this.#exchange(call, facts);
    return readAnswer(answer, {
      request: facts,
      what: this.#what(facts),
      key: this.#key,
      envelope: call.envelope,
      answer: call.answer,
      addressHint: this.#addressHint,
    });
  }

  /** The service's clock at its first successful response, in milliseconds since 1970; undefined if no response had one. */
  get servedAtMs(): number | undefined {
    return this.#servedAtMs;
  }

  /** Redacts the key from external text. */
  withoutKey(text: string): string {
    return this.#key.removedFrom(text);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await (await (this.#dispatcher ?? this.#givenDispatcher))?.close();
  }

  async #exchange(call: Call<unknown>, facts: RequestFacts): Promise<Answer> {
    const dispatcher = await this.#loaded();
    this.#signal?.throwIfAborted();
    const received = await exchange(
      dispatcher,
      {
        origin: this.#origin,
        path: `${this.#prefix}${facts.path}${queryOf(call)}`,
        method: call.method,
        headers: {
          ...this.#key.header,
          accept: "application/json",
          ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: call.body === undefined ? null : JSON.stringify(call.body),
      },
      { timeoutMs: this.#timeoutMs, maxBytes: this.#maxResponseBytes, signal: this.#signal },
    ).catch((error: unknown) => {
      throw this.#connectionFailure(facts, error);
    });
    const { status, headers, text, brokenBy } = received;
    if (isSuccess(status)) this.#servedAtMs ??= serviceTimeMs(headers);
    if (brokenBy === undefined) return { status, headers, text };
    // The status of a refusal is sufficient; its body is optional and may be truncated.
    if (!isSuccess(status)) return { status, headers, text: "" };
    throw this.#brokenBody(facts, status, brokenBy);
  }

  /** Most Pulumi commands make no request, so the HTTP modules load on the first one. */
  async #loaded(): Promise<Dispatcher> {
    this.#dispatcher ??= this.#load();
    return await this.#dispatcher;
  }

  async #load(): Promise<Dispatcher> {
    return this.#givenDispatcher ?? (await loadDispatcher(this.baseUrl));
  }

  #brokenBody(facts: RequestFacts, status: number, brokenBy: Error): Error {
    if (this.#signal?.aborted === true || brokenBy instanceof OutOfTime) {
      return this.#connectionFailure(facts, brokenBy);
    }
    const isTooLarge = brokenBy instanceof TooManyBytes;
    const how = isTooLarge
      ? `more than ${this.#maxResponseBytes} bytes; reading stopped there`
      : `${status} with a body that broke off: the connection ended in its middle`;
    const found = classify({ body: isTooLarge ? "too large" : "truncated" });
    return failureFrom(found, `${this.#what(facts)} answered ${how}`, { request: facts, status });
  }

  #connectionFailure(facts: RequestFacts, error: unknown): Error {
    if (this.#signal?.aborted === true) return this.#signal.reason as Error;
    const what = this.#what(facts);
    const found = classify(observeFailure(error));
    if (error instanceof OutOfTime) {
      const message = `${what} gave no whole answer within ${this.#timeoutMs} ms. Check the address; where the service is slow, allow it more: timeoutMs, or EMAIL_SECURITY_TIMEOUT_MS.`;
      return failureFrom(found, message, { request: facts });
    }
    const { how, advice, cause } = describeFailure(error, this.#key);
    return failureFrom(
      this.#isClosed ? { ...found, isTransient: false } : found,
      `${what} failed${how}. ${advice}`,
      { request: facts, cause },
    );
  }

  #what(facts: RequestFacts): string {
    return `${facts.method} ${facts.path} at ${this.baseUrl}`;
  }

  [inspect.custom](): string {
    return `Transport { baseUrl: '${this.baseUrl}' }`;
  }
}

function queryOf({ query = {} }: Call<unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}
