import { isIP } from "node:net";
import { inspect } from "node:util";
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import { z } from "zod";
import { RATE_LIMIT_STATUSES } from "../settings/assumptions";
import { printable, quote } from "../settings/text";
import {
  AuthenticationError,
  BadRequestError,
  ConfigurationError,
  ConflictError,
  InvalidArgumentError,
  InvalidResponseError,
  NetworkError,
  NotFoundError,
  RateLimitedError,
  RedirectError,
  type RequestFacts,
  ServerError,
  ServiceError,
  type ServiceErrorOptions,
  TimeoutError,
  UnexpectedStatusError,
} from "./errors";

export interface TransportOptions {
  /** The service's address, such as `https://mail-security.example`. A path in it is kept as a prefix. */
  readonly baseUrl: string;
  /** The tenant's API key. */
  readonly apiKey: string;
  /** How long one request may take until its whole answer is here, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Accept `http://` for an address that is not loopback. Default: false, since it sends the key in the clear. */
  readonly allowInsecureHttp?: boolean;
  /** The largest answer that is read, in bytes. Default: 16 MiB. */
  readonly maxResponseBytes?: number;
  /** undici's dispatcher. Default: one that follows HTTPS_PROXY and NO_PROXY; loopback is always reached directly. */
  readonly dispatcher?: Dispatcher;
}

export interface Call<T> {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path below the address, its variable parts percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** The JSON body. */
  readonly body?: unknown;
  /** The shape of the answer's body. */
  readonly answer: z.ZodType<T>;
}

const API_PREFIX = "/api/v1";
const DEFAULT_TIMEOUT_MS = 30_000;
/** What a timer can count; a longer one would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Failures that happen before a request leaves, so that the service can't have acted on it. */
const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_NOT_YET_VALID",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  // What answers a TLS greeting in something else than TLS.
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
]);

/**
 * Sends one request and reads one answer. It holds the key, and the only place the key goes is the `X-Api-Key` header
 * of a request to the configured address: no error, log line or inspection shows it.
 */
export class Transport {
  /** The service's address without a trailing slash. */
  readonly baseUrl: string;
  readonly #apiKey: string;
  readonly #formsOfKey: readonly string[];
  readonly #timeoutMs: number;
  readonly #maxResponseBytes: number;
  readonly #dispatcher: Dispatcher;
  #isClosed = false;

  /** @throws {ConfigurationError} when the address or the key can't be used. */
  constructor(options: TransportOptions) {
    this.baseUrl = checkBaseUrl(options.baseUrl, options.allowInsecureHttp ?? false);
    this.#apiKey = checkApiKey(options.apiKey);
    this.#formsOfKey = formsOf(this.#apiKey);
    this.#timeoutMs = checkPositive("timeoutMs", options.timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
    this.#maxResponseBytes = checkPositive(
      "maxResponseBytes",
      options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
    );
    this.#dispatcher = options.dispatcher ?? defaultDispatcher(this.baseUrl);
  }

  /**
   * Makes one request and answers the body, checked.
   *
   * @throws {ServiceError} one class a kind of failure, each with a stable code.
   */
  async send<T>(call: Call<T>): Promise<T> {
    const facts: RequestFacts = { method: call.method, path: `${API_PREFIX}${call.path}` };
    if (this.#isClosed) {
      throw new NetworkError("ERR_NETWORK", `${this.#what(facts)} was not sent: this client is closed.`, {
        request: facts,
      });
    }
    const answer = await this.#exchange(call, facts);
    if (!isSuccess(answer.status)) throw this.#refusal(facts, answer);
    const body = this.#parse(facts, answer);
    const checked = call.answer.safeParse(body);
    if (!checked.success) {
      throw new InvalidResponseError(
        "ERR_INVALID_RESPONSE",
        `${this.#what(facts)} answered ${answer.status} with a body that is not what the reference says: ${explain(checked.error)}`,
        {
          request: facts,
          status: answer.status,
          body: this.#bodyWithoutKey(body),
          outcomeUnknown: isWrite(facts),
        },
      );
    }
    return checked.data;
  }

  /** Text from outside with the key, should it be echoed, taken out. */
  withoutKey(text: string): string {
    return this.#formsOfKey.reduce((cleaned, form) => cleaned.replaceAll(form, "<API_KEY>"), text);
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#dispatcher.close();
  }

  async #exchange(call: Call<unknown>, facts: RequestFacts): Promise<Answer> {
    const url = new URL(`${this.baseUrl}${facts.path}`);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const signal = AbortSignal.timeout(this.#timeoutMs);
    try {
      // undici's request follows no redirect unless an interceptor is composed in, and none is.
      const response = await request(url, {
        method: call.method,
        headers: {
          "x-api-key": this.#apiKey,
          accept: "application/json",
          ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: call.body === undefined ? null : JSON.stringify(call.body),
        signal,
        // One limit for the whole exchange, above; undici's own would end a longer one as a broken connection.
        headersTimeout: 0,
        bodyTimeout: 0,
        dispatcher: this.#dispatcher,
      });
      const text = await this.#readBody(facts, response).catch((error: unknown) => {
        // The status of a refusal tells what happened; its words are a courtesy that may break off.
        if (isSuccess(response.statusCode)) throw error;
        return "";
      });
      return { status: response.statusCode, headers: response.headers, text };
    } catch (error) {
      throw this.#connectionFailure(facts, error, signal);
    }
  }

  async #readBody(facts: RequestFacts, response: Dispatcher.ResponseData): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response.body) {
      const bytes = chunk as Buffer;
      size += bytes.length;
      if (size > this.#maxResponseBytes) {
        response.body.destroy();
        throw new InvalidResponseError(
          "ERR_INVALID_RESPONSE",
          `${this.#what(facts)} answered more than ${this.#maxResponseBytes} bytes; reading stopped there`,
          { request: facts, status: response.statusCode, outcomeUnknown: isWrite(facts) },
        );
      }
      chunks.push(bytes);
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  #connectionFailure(facts: RequestFacts, error: unknown, signal: AbortSignal): Error {
    if (error instanceof ServiceError) return error;
    if (signal.aborted) {
      return new TimeoutError(
        "ERR_TIMEOUT",
        `${this.#what(facts)} gave no whole answer within ${this.#timeoutMs} ms`,
        {
          request: facts,
          outcomeUnknown: isWrite(facts),
        },
      );
    }
    const code = errorCode(error);
    const reason = this.#harmless(error instanceof Error ? error.message || code : String(error));
    return new NetworkError(
      "ERR_NETWORK",
      `${this.#what(facts)} failed: ${reason || "the connection broke"}. Check that the address is right and can be reached from here.`,
      {
        request: facts,
        cause: new Error(reason === "" ? code : `${code} ${reason}`.trim()),
        outcomeUnknown: isWrite(facts) && !NEVER_SENT.has(code),
      },
    );
  }

  #parse(facts: RequestFacts, answer: Answer): unknown {
    const contentType = header(answer, "content-type") ?? "";
    const isJson = contentType === "" || /\bjson\b/i.test(contentType);
    if (isJson) {
      try {
        return JSON.parse(answer.text);
      } catch {
        // The parser's message quotes the body; what follows says the same in a bounded way.
      }
    }
    const shown = answer.text === "" ? "nothing" : quote(this.#harmless(answer.text), 80);
    throw new InvalidResponseError(
      "ERR_INVALID_RESPONSE",
      `${this.#what(facts)} answered ${answer.status} with ${isJson ? "a body that is no JSON" : `content of type ${quote(this.#harmless(contentType), 60)} instead of JSON`}: ${shown}`,
      { request: facts, status: answer.status, outcomeUnknown: isWrite(facts) },
    );
  }

  #refusal(facts: RequestFacts, answer: Answer): ServiceError {
    const { status } = answer;
    const body = this.#bodyOfRefusal(answer);
    const said = errorBody.safeParse(body);
    const serviceMessage = said.success ? this.#harmless(said.data.error).slice(0, 500) : undefined;
    const told = serviceMessage === undefined ? "" : `: ${serviceMessage}`;
    const stop = /[.!?]$/.test(told) ? "" : ".";
    const options: ServiceErrorOptions = {
      request: facts,
      status,
      serviceMessage,
      body: this.#bodyWithoutKey(body),
    };
    const message = (advice: string): string =>
      `${this.#what(facts)} answered ${status}${told}${stop} ${advice}`;
    if (status >= 300 && status < 400) {
      const location = header(answer, "location");
      const target = location === undefined ? "" : ` to ${quote(this.#harmless(location))}`;
      return new RedirectError(
        "ERR_REDIRECT",
        `${this.#what(facts)} answered ${status}, a redirect${target}, which is refused because it would carry the API key elsewhere. Configure the address that answers itself.`,
        options,
      );
    }
    if (RATE_LIMIT_STATUSES.includes(status)) {
      return new RateLimitedError("ERR_RATE_LIMITED", message("Too many requests; wait, then run again."), {
        ...options,
        retryAfterMs: retryAfterMs(header(answer, "retry-after")),
      });
    }
    switch (status) {
      case 400:
        return new BadRequestError(
          "ERR_BAD_REQUEST",
          message("The service found the request invalid."),
          options,
        );
      case 401:
      case 403:
        return new AuthenticationError(
          "ERR_AUTH",
          message(
            "The API key is missing, unknown or not allowed to do this; check the key and the address.",
          ),
          options,
        );
      case 404:
        return new NotFoundError("ERR_NOT_FOUND", message("It does not exist for this tenant."), options);
      case 409:
        return new ConflictError(
          "ERR_CONFLICT",
          message("It exists already, or collides with another entry."),
          options,
        );
      default:
        break;
    }
    if (status >= 500) {
      return new ServerError("ERR_SERVER", message("The service failed; running again is safe."), {
        ...options,
        outcomeUnknown: isWrite(facts),
      });
    }
    return new UnexpectedStatusError(
      "ERR_UNEXPECTED_STATUS",
      message("The service's reference does not name this status."),
      options,
    );
  }

  #bodyOfRefusal(answer: Answer): unknown {
    try {
      return JSON.parse(answer.text);
    } catch {
      return undefined;
    }
  }

  #what(facts: RequestFacts): string {
    return `${facts.method} ${facts.path} at ${this.baseUrl}`;
  }

  /** Text from outside, with its control characters escaped and the key taken out. */
  #harmless(text: string): string {
    return printable(this.withoutKey(text));
  }

  #bodyWithoutKey(body: unknown): unknown {
    try {
      return JSON.parse(this.withoutKey(JSON.stringify(body)));
    } catch {
      // No body, or one that is nested too deep or does not hold together without the key: better none than that.
      return undefined;
    }
  }

  [inspect.custom](): string {
    return `Transport { baseUrl: '${this.baseUrl}' }`;
  }
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const errorBody = z.object({ error: z.string().trim().min(1) });

/** The key as it is, and as an echo may write it: in JSON, in an address, in HTML. */
function formsOf(key: string): string[] {
  const html = key.replace(/[&<>"']/g, (character) => `&${HTML_NAMES[character]};`);
  return [...new Set([key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key), html])];
}

const HTML_NAMES: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
  "'": "#39",
};

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function header(answer: Answer, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function isWrite(facts: RequestFacts): boolean {
  return facts.method !== "GET";
}

function errorCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = (at as NodeJS.ErrnoException).code;
    if (typeof code === "string") return code;
  }
  return "";
}

/** Both forms of Retry-After (RFC 9110, section 10.2.3), in milliseconds from now; undefined when it can't be read. */
function retryAfterMs(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  // Date.parse takes "-1" and "soon 5" for dates long past, which would read as "no need to wait".
  if (!/^[A-Z][a-z]+, .+ GMT$/.test(value.trim())) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function explain(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map(lastBranch)
    .map((issue) => `${issue.path.length === 0 ? "the body" : issue.path.join(".")}: ${issue.message}`)
    .join("; ");
}

/** Of an answer that may come in several shapes, what is wrong with the one that the reference shows: the last. */
function lastBranch(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  const inner = issue.code === "invalid_union" ? issue.errors.at(-1)?.[0] : undefined;
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
}

function defaultDispatcher(baseUrl: string): Dispatcher {
  // Plain http to loopback is accepted because nobody else hears it; a proxy would.
  if (isLoopback(new URL(baseUrl).hostname)) return new Agent();
  try {
    return new EnvHttpProxyAgent();
  } catch {
    // The cause would show the proxy's address, and with it its password.
    throw new ConfigurationError("HTTPS_PROXY or HTTP_PROXY of the environment is not a proxy's address.");
  }
}

function checkBaseUrl(baseUrl: string, allowInsecureHttp: boolean): string {
  const url = URL.parse(baseUrl);
  const advice = "Give an address such as https://mail-security.example.";
  if (url === null)
    throw new ConfigurationError(
      // Not shown: what is no address may be the key, put in the wrong place.
      `The service's address (baseUrl) is not a URL. ${advice}`,
    );
  if (url.username !== "" || url.password !== "") {
    throw new ConfigurationError(
      `The service's address (baseUrl) holds a user name or a password. ${advice}`,
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw new ConfigurationError(
      `The service's address (baseUrl) has a query or a fragment after ${quote(`${url.origin}${url.pathname}`)}. ${advice}`,
    );
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new ConfigurationError(
      `The service's address (baseUrl) does not begin with https:// or http://. ${advice}`,
    );
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !allowInsecureHttp) {
    throw new ConfigurationError(
      `The service's address (baseUrl) is ${quote(baseUrl)}: plain http would send the API key in the clear. Use https, or say allowInsecureHttp where that is truly wanted.`,
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[(.+)\]$/, "$1");
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "::1" ||
    (isIP(host) === 4 && host.startsWith("127."))
  );
}

function checkApiKey(apiKey: string): string {
  if (typeof apiKey !== "string" || apiKey === "")
    throw new ConfigurationError("The API key (apiKey) is empty.");
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new ConfigurationError(
      "The API key (apiKey) holds white space, a line break or a character outside ASCII, which no header can carry. Check how it was copied.",
    );
  }
  return apiKey;
}

/** @throws {InvalidArgumentError} when `value` is no positive whole number. */
export function checkPositive(name: string, value: number, most = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isInteger(value) || value < 1 || value > most) {
    const range = most === Number.MAX_SAFE_INTEGER ? "of 1 or more" : `from 1 to ${most}`;
    throw new InvalidArgumentError(`${name} must be a whole number ${range}, not ${value}`);
  }
  return value;
}
