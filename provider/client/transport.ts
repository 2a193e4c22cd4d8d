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

/** How a client reaches its tenant. */
export interface SettingsClientOptions {
  /** The service's address, such as `https://mail-security.example`. A path in it is kept as a prefix. */
  readonly baseUrl: string;
  /** The tenant's API key. */
  readonly apiKey: string;
  /** How long one request may take until its whole answer is here, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /**
   * Whether a request that failed is made again, where that is safe: at most four times in all, with a growing wait.
   * Default: true. The page of retries in the docs has the whole policy.
   */
  readonly retries?: boolean;
  /** Accept `http://` for an address that is not loopback. Default: false, since it sends the key in the clear. */
  readonly allowInsecureHttp?: boolean;
  /** The largest answer that is read, in bytes. Default: 16 MiB. */
  readonly maxResponseBytes?: number;
  /** undici's dispatcher. Default: one that follows HTTPS_PROXY and NO_PROXY; loopback is always reached directly. */
  readonly dispatcher?: Dispatcher;
  /**
   * Asked before every request, the repeated ones too: by it, clients of many tenants keep one rate together. Default: none,
   * each client goes as fast as the service bears.
   */
  readonly permits?: Permits | undefined;
  /** The clock, the timers and the chance of the waits. Default: the process's own. */
  readonly time?: Time;
}

/** What only this package's own clients are given. */
export interface TransportOptions extends SettingsClientOptions {
  /** Ends what is under way, and lets nothing more begin: whoever waits gets its reason. */
  readonly signal?: AbortSignal | undefined;
  /** As {@link PacerOptions}. */
  readonly retryForMs?: number | undefined;
}

export interface Call<T> {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path below the address, its variable parts percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** The JSON body. */
  readonly body?: unknown;
  /** Whether one request does many things, so that its time tells nothing of the service's. Default: false. */
  readonly isBatch?: boolean;
  /** How the answer is wrapped. */
  readonly envelope: Envelope;
  /** The shape of the answer's body. */
  readonly answer: z.ZodType<T>;
  /** Counts how long the call takes, as a part of a reading of many pages. */
  readonly stopwatch?: Stopwatch | undefined;
}

const API_PREFIX = "/api/v1";
/** Where all that is not about mail stands, below the prefix. */
const SETTINGS_PREFIX = "/settings/";
export const DEFAULT_TIMEOUT_MS = 30_000;
/** What a timer can count; a longer one would fire at once. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * Sends requests and reads their answers. It holds the key, and the only place the key goes is the `X-Api-Key` header
 * of a request to the configured address: no error, log line or inspection shows it.
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
  readonly #customDispatcher: Dispatcher | undefined;
  readonly #pacer: Pacer;
  readonly #signal: AbortSignal | undefined;
  readonly #isRateLimited: boolean;
  #dispatcher: Promise<Dispatcher> | undefined;
  #serviceTimeMs: number | undefined;
  #isClosed = false;

  /** @throws {ConfigurationError} when the address or the key can't be used. */
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
    this.#customDispatcher = options.dispatcher;
    this.#pacer = new Pacer({
      time: options.time ?? realTime,
      retries: options.retries ?? true,
      timeoutMs: this.#timeoutMs,
      retryForMs: options.retryForMs,
      permits: options.permits,
    });
    this.#signal = options.signal;
    this.#isRateLimited = options.permits !== undefined;
    if (options.dispatcher === undefined) checkProxies(this.baseUrl, process.env);
  }

  /**
   * Makes a request, as often as the retry policy allows, and answers the body, checked.
   *
   * @throws {ServiceError} one class a kind of failure, each with a stable code.
   */
  async send<T>(call: Call<T>): Promise<T> {
    const request: RequestFacts = { method: call.method, path: `${API_PREFIX}${call.path}` };
    const kind = call.isBatch ? "batch" : isWrite(request) ? "write" : "read";
    const area = call.path.startsWith(SETTINGS_PREFIX) ? "settings" : "mail";
    const addDuration = (ms: number): void => {
      if (call.stopwatch !== undefined) call.stopwatch.spentMs += ms;
    };
    const pacedCall = {
      request,
      what: this.#describeRequest(request),
      kind,
      area,
      took: addDuration,
      bound: currentBound(),
    } as const;
    // A permit is for now: what has to be loaded first would make those of the first requests be used in a bunch.
    if (this.#isRateLimited && !this.#isClosed) await this.#getDispatcher();
    return await this.#pacer.send(pacedCall, () => this.#sendOnce(call, request));
  }

  /** Takes one retry from the tenant's budget, for what only the caller can make again; false when there is none left. */
  takeRetry(): boolean {
    return this.#pacer.takeRetry();
  }

  async #sendOnce<T>(call: Call<T>, requestInfo: RequestFacts): Promise<T> {
    if (this.#isClosed) {
      const message = `${this.#describeRequest(requestInfo)} was not sent: this client is closed.`;
      throw failureFrom(classify({ failure: "closed" }), message, { request: requestInfo });
    }
    const response = await this.#exchange(call, requestInfo);
    return readAnswer(response, {
      request: requestInfo,
      what: this.#describeRequest(requestInfo),
      key: this.#key,
      envelope: call.envelope,
      answer: call.answer,
      addressHint: this.#addressHint,
    });
  }

  /** The service's clock at its first answer of success, in milliseconds since 1970; undefined where no answer told it. */
  get servedAtMs(): number | undefined {
    return this.#serviceTimeMs;
  }

  /** Text from outside with the key, should it be echoed, taken out. */
  withoutKey(text: string): string {
    return this.#key.removedFrom(text);
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await (await (this.#dispatcher ?? this.#customDispatcher))?.close();
  }

  async #exchange(call: Call<unknown>, requestInfo: RequestFacts): Promise<Answer> {
    const dispatcher = await this.#getDispatcher();
    this.#signal?.throwIfAborted();
    const response = await exchange(
      dispatcher,
      {
        origin: this.#origin,
        path: `${this.#prefix}${requestInfo.path}${formatQuery(call)}`,
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
      throw this.#buildConnectionError(requestInfo, error);
    });
    const { status, headers, text, brokenBy } = response;
    if (isSuccess(status)) this.#serviceTimeMs ??= serviceTimeMs(headers);
    if (brokenBy === undefined) return { status, headers, text };
    // The status of a refusal tells what happened; its words are a courtesy that may break off.
    if (!isSuccess(status)) return { status, headers, text: "" };
    throw this.#buildBodyError(requestInfo, status, brokenBy);
  }

  /** Most commands of Pulumi make no request at all, so what makes them is loaded for the first one. */
  async #getDispatcher(): Promise<Dispatcher> {
    this.#dispatcher ??= this.#createDispatcher();
    return await this.#dispatcher;
  }

  async #createDispatcher(): Promise<Dispatcher> {
    return this.#customDispatcher ?? (await loadDispatcher(this.baseUrl));
  }

  #buildBodyError(requestInfo: RequestFacts, status: number, failure: Error): Error {
    if (this.#signal?.aborted === true || failure instanceof OutOfTime) {
      return this.#buildConnectionError(requestInfo, failure);
    }
    const isTooLarge = failure instanceof TooManyBytes;
    const description = isTooLarge
      ? `more than ${this.#maxResponseBytes} bytes; reading stopped there`
      : `${status} with a body that broke off: the connection ended in its middle`;
    const responseClass = classify({ body: isTooLarge ? "too large" : "truncated" });
    return failureFrom(responseClass, `${this.#describeRequest(requestInfo)} answered ${description}`, {
      request: requestInfo,
      status,
    });
  }

  #buildConnectionError(requestInfo: RequestFacts, error: unknown): Error {
    if (this.#signal?.aborted === true) return this.#signal.reason as Error;
    const requestText = this.#describeRequest(requestInfo);
    const responseClass = classify(observeFailure(error));
    if (error instanceof OutOfTime) {
      const message = `${requestText} gave no whole answer within ${this.#timeoutMs} ms. Check the address; where the service is slow, allow it more: timeoutMs, or EMAIL_SECURITY_TIMEOUT_MS.`;
      return failureFrom(responseClass, message, { request: requestInfo });
    }
    const { how, advice, cause } = describeFailure(error, this.#key);
    return failureFrom(
      this.#isClosed ? { ...responseClass, isTransient: false } : responseClass,
      `${requestText} failed${how}. ${advice}`,
      { request: requestInfo, cause },
    );
  }

  #describeRequest(requestInfo: RequestFacts): string {
    return `${requestInfo.method} ${requestInfo.path} at ${this.baseUrl}`;
  }

  [inspect.custom](): string {
    return `Transport { baseUrl: '${this.baseUrl}' }`;
  }
}

function formatQuery({ query = {} }: Call<unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}
