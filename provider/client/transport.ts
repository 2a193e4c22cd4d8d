import { inspect } from "node:util";
import type { Dispatcher } from "undici";
import type { z } from "zod";
import { ApiKey } from "./api-key";
import { getEndpointPathHint, normalizeBaseUrl } from "./base-url";
import { buildServiceError, isWriteRequest } from "./build-service-error";
import { describeConnectionFailure, observeConnectionFailure } from "./connection-failure";
import type { AddressConnections } from "./connection-pool";
import { getCurrentDeadline } from "./deadline-context";
import { assertValidProxies, loadDispatcher } from "./dispatcher";
import type { EnvelopeKind } from "./envelope";
import type { RequestInfo } from "./errors";
import { BodyTooLargeError, exchange, ResponseTimeoutError } from "./http-exchange";
import type { PageRequest, Stopwatch } from "./paged-list";
import { requirePositive } from "./parameters";
import { type HttpResponse, isSuccessStatus, parseResponse } from "./parse-response";
import type { RequestLimiter } from "./rate-limiter";
import { RequestScheduler } from "./request-scheduler";
import { classifyResponse } from "./response-classification";
import { parseServiceTimeMs } from "./retry-after";
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
   * A rate limiter shared by the clients of several tenants. Each attempt takes a token. Default: none; each client
   * adapts to the service.
   */
  readonly limiter?: RequestLimiter | undefined;
  /** The clock, timers and randomness of the backoff. Default: the process's own. */
  readonly time?: Time;
}

/** Options for this package's own clients. */
export interface TransportOptions extends SettingsClientOptions {
  /** Aborts requests in flight and rejects new ones with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** See {@link RequestSchedulerOptions}. */
  readonly retryForMs?: number | undefined;
  /** The connections that the client shares with others. It doesn't close them. Default: its own. */
  readonly connections?: AddressConnections | undefined;
}

export interface ApiRequest<T> {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path below the address, with percent-encoded variables. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** Whether the request writes many things, so its latency says nothing about the service. Default: false. */
  readonly isBatch?: boolean;
  readonly envelope: EnvelopeKind;
  /** The schema of the response body. */
  readonly schema: z.ZodType<T>;
  /** Counts the duration of the call as part of a read of several pages. */
  readonly stopwatch?: Stopwatch | undefined;
  readonly fetch?: PageRequest | undefined;
}

const API_PREFIX = "/api/v1";
/** The path prefix of all endpoints that aren't about mail. */
const SETTINGS_PREFIX = "/settings/";
export const DEFAULT_TIMEOUT_MS = 30_000;
/** The maximum of a timer; a longer one would fire immediately. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
export const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

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
  readonly #customDispatcher: Dispatcher | undefined;
  readonly #sharedConnections: AddressConnections | undefined;
  readonly #scheduler: RequestScheduler;
  readonly #signal: AbortSignal | undefined;
  readonly #isRateLimited: boolean;
  #dispatcher: Promise<Dispatcher> | undefined;
  #serviceTimeMs: number | undefined;
  #isClosed = false;

  /** @throws {ConfigurationError} if the address or the key is invalid. */
  constructor(options: TransportOptions) {
    this.baseUrl = normalizeBaseUrl(options.baseUrl, options.allowInsecureHttp ?? false);
    this.#origin = new URL(this.baseUrl).origin;
    this.#prefix = this.baseUrl.slice(this.#origin.length);
    this.#addressHint = getEndpointPathHint(this.baseUrl);
    this.#key = new ApiKey(options.apiKey);
    this.#timeoutMs = requirePositive("timeoutMs", options.timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
    this.#maxResponseBytes = requirePositive(
      "maxResponseBytes",
      options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
    );
    this.#customDispatcher = options.dispatcher;
    this.#sharedConnections = options.connections;
    this.#scheduler = new RequestScheduler({
      time: options.time ?? realTime,
      retries: options.retries ?? true,
      timeoutMs: this.#timeoutMs,
      retryForMs: options.retryForMs,
      rateLimiter: options.limiter,
      connections: options.connections,
    });
    this.#signal = options.signal;
    this.#isRateLimited = options.limiter !== undefined;
    if (options.dispatcher === undefined) assertValidProxies(this.baseUrl, process.env);
  }

  /**
   * Sends a request, with retries, and returns the validated body.
   *
   * @throws {ServiceError} one class per kind of failure, each with a stable code.
   */
  async send<T>(call: ApiRequest<T>): Promise<T> {
    const request: RequestInfo = { method: call.method, path: `${API_PREFIX}${call.path}` };
    const kind = call.isBatch ? "batch" : isWriteRequest(request) ? "write" : "read";
    const area = call.path.startsWith(SETTINGS_PREFIX) ? "settings" : "mail";
    const addDuration = (ms: number): void => {
      if (call.stopwatch !== undefined) call.stopwatch.elapsedMs += ms;
    };
    const scheduledCall = {
      request,
      requestText: this.#describeRequest(request),
      kind,
      area,
      onDuration: addDuration,
      deadline: getCurrentDeadline(),
      fetch: call.fetch,
    } as const;
    // Load the dispatcher before taking a token. Otherwise the first tokens would all be used at once, after loading.
    if (this.#isRateLimited && !this.#isClosed) await this.#getDispatcher();
    return await this.#scheduler.send(scheduledCall, () => this.#sendOnce(call, request));
  }

  /** Consumes one retry of the tenant's budget, for retries that only the caller can make; false if none is left. */
  consumeRetryBudget(): boolean {
    return this.#scheduler.consumeRetryBudget();
  }

  async #sendOnce<T>(call: ApiRequest<T>, requestInfo: RequestInfo): Promise<T> {
    if (this.#isClosed) {
      const message = `${this.#describeRequest(requestInfo)} was not sent: this client is closed.`;
      throw buildServiceError(classifyResponse({ failure: "closed" }), message, { request: requestInfo });
    }
    const response = await this.#exchange(call, requestInfo);
    return parseResponse(response, {
      request: requestInfo,
      requestText: this.#describeRequest(requestInfo),
      key: this.#key,
      envelope: call.envelope,
      schema: call.schema,
      addressHint: this.#addressHint,
    });
  }

  /** The service's clock at its first successful response, in milliseconds since 1970; undefined if no response had one. */
  get serviceTimeMs(): number | undefined {
    return this.#serviceTimeMs;
  }

  /** Redacts the key from external text. */
  redactKey(text: string): string {
    return this.#key.redact(text);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#sharedConnections === undefined) await (await (this.#dispatcher ?? this.#customDispatcher))?.close();
  }

  async #exchange(call: ApiRequest<unknown>, requestInfo: RequestInfo): Promise<HttpResponse> {
    const dispatcher = await this.#getDispatcher();
    const signal = combineSignals(this.#signal, call.fetch?.signal);
    signal?.throwIfAborted();
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
      { timeoutMs: this.#timeoutMs, maxBytes: this.#maxResponseBytes, signal },
    ).catch((error: unknown) => {
      call.fetch?.signal.throwIfAborted();
      throw this.#buildConnectionError(requestInfo, error);
    });
    const { status, headers, text, truncationCause } = response;
    if (isSuccessStatus(status)) this.#serviceTimeMs ??= parseServiceTimeMs(headers);
    call.fetch?.signal.throwIfAborted();
    if (truncationCause === undefined) return { status, headers, text };
    // The status of a refusal is sufficient; its body is optional and may be truncated.
    if (!isSuccessStatus(status)) return { status, headers, text: "" };
    throw this.#buildBodyError(requestInfo, status, truncationCause);
  }

  /** Loaded on the first request, because most Pulumi commands make none. */
  async #getDispatcher(): Promise<Dispatcher> {
    this.#dispatcher ??= this.#createDispatcher();
    return await this.#dispatcher;
  }

  async #createDispatcher(): Promise<Dispatcher> {
    return this.#customDispatcher ?? (await (this.#sharedConnections?.getDispatcher() ?? loadDispatcher(this.baseUrl)));
  }

  #buildBodyError(requestInfo: RequestInfo, status: number, failure: Error): Error {
    if (this.#signal?.aborted === true || failure instanceof ResponseTimeoutError) {
      return this.#buildConnectionError(requestInfo, failure);
    }
    const isTooLarge = failure instanceof BodyTooLargeError;
    const description = isTooLarge
      ? `more than ${this.#maxResponseBytes} bytes; reading was stopped`
      : `${status} with a truncated body: the connection ended before the end of the body`;
    const responseClass = classifyResponse({ body: isTooLarge ? "too large" : "truncated" });
    return buildServiceError(responseClass, `${this.#describeRequest(requestInfo)} returned ${description}`, {
      request: requestInfo,
      status,
    });
  }

  #buildConnectionError(requestInfo: RequestInfo, error: unknown): Error {
    if (this.#signal?.aborted === true) return this.#signal.reason as Error;
    const requestText = this.#describeRequest(requestInfo);
    const responseClass = classifyResponse(observeConnectionFailure(error));
    if (error instanceof ResponseTimeoutError) {
      const message = `${requestText} received no complete response within ${this.#timeoutMs} ms. Check the address. If the service is slow, increase the timeout: EMAIL_SECURITY_TIMEOUT_MS, or timeoutMs in a program.`;
      return buildServiceError(responseClass, message, { request: requestInfo });
    }
    const { description, advice, cause } = describeConnectionFailure(error, this.#key);
    return buildServiceError(
      this.#isClosed ? { ...responseClass, isTransient: false } : responseClass,
      `${requestText} failed${description}. ${advice}`,
      { request: requestInfo, cause },
    );
  }

  #describeRequest(requestInfo: RequestInfo): string {
    return `${requestInfo.method} ${requestInfo.path} at ${this.baseUrl}`;
  }

  [inspect.custom](): string {
    return `Transport { baseUrl: '${this.baseUrl}' }`;
  }
}

function combineSignals(signal: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || other === undefined) return signal ?? other;
  return AbortSignal.any([signal, other]);
}

function formatQuery({ query = {} }: ApiRequest<unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}
