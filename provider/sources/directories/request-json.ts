import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { loadDispatcher } from "../../client/dispatcher";
import { exchange, type RawResponse } from "../../client/http-exchange";
import { formatWait, parseRetryAfterMs } from "../../client/retry-after";
import { computeBackoffMs } from "../../client/retry-policy";
import { maskSecrets } from "../../model/secrets";
import { excerptSentences, quote } from "../../model/text";
import { assertAllowedSource } from "../allowed-sources";
import { describeFailure, type SourceContext, SourceError } from "../source-content";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_ATTEMPTS = 6;
const BACKOFF = { baseMs: 1_000, maxMs: 30_000 };
/** A directory that asks for a longer wait is read by a later run. */
const MAX_WAIT_MS = 120_000;

export interface JsonResponse {
  readonly status: number;
  /** Undefined if the body isn't JSON. */
  readonly body: unknown;
}

export interface JsonApiOptions {
  readonly context: SourceContext;
  /** The API in messages. */
  readonly api: string;
  readonly baseUrl: string;
  readonly token: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns whether an error response is a rate limit or a passing failure. */
  readonly isTransient: (response: JsonResponse) => boolean;
  /** Returns the reason of an error response, and advice. */
  readonly explain: (response: JsonResponse) => ErrorExplanation;
}

export interface ErrorExplanation {
  /** The service's code and message; empty if there is none. */
  readonly reason: string;
  readonly advice: string;
}

/** Reads a JSON API with a bearer token, within the address that the run allows for the source. */
export class JsonApi {
  readonly #options: JsonApiOptions;
  readonly #dispatcher: Dispatcher;

  private constructor(options: JsonApiOptions, dispatcher: Dispatcher) {
    this.#options = options;
    this.#dispatcher = dispatcher;
  }

  static async open(options: JsonApiOptions): Promise<JsonApi> {
    return new JsonApi(options, await loadDispatcher(options.baseUrl));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispatcher.destroy();
  }

  /**
   * Reads one page. Waits and retries if the service limits the rate or fails in passing.
   *
   * @throws {SourceError} if the page can't be read, with the reason.
   */
  async get(url: string): Promise<unknown> {
    const { context } = this.#options;
    assertAllowedSource(context.name, url, context.environment);
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(url);
      if ("body" in outcome) return outcome.body;
      if (!outcome.isTransient || attempt === MAX_ATTEMPTS) throw outcome.error;
      const waitMs = Math.max(outcome.waitMs, computeBackoffMs(attempt, Math.random(), BACKOFF));
      if (waitMs > MAX_WAIT_MS) throw outcome.error;
      await sleep(waitMs, undefined, { signal: context.signal });
    }
  }

  async #attempt(url: string): Promise<{ readonly body: unknown } | FailedAttempt> {
    const { api, headers, token } = this.#options;
    const { origin, pathname, search } = new URL(url);
    let received: RawResponse;
    try {
      received = await exchange(
        this.#dispatcher,
        {
          origin,
          path: `${pathname}${search}`,
          method: "GET",
          headers: { accept: "application/json", ...headers, authorization: `Bearer ${token}` },
        },
        { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, signal: this.#options.context.signal },
      );
    } catch (error) {
      this.#options.context.signal.throwIfAborted();
      return this.#fail(`${api} didn't respond: ${describeFailure(error)}.`, true);
    }
    if (received.truncationCause !== undefined) {
      return this.#fail(`The response of ${api} was truncated: ${describeFailure(received.truncationCause)}.`, true);
    }
    return this.#judge(received);
  }

  #judge(received: RawResponse): { readonly body: unknown } | FailedAttempt {
    const { api, explain, isTransient, token } = this.#options;
    const { status } = received;
    // Shortening first could leave a part of the token.
    const maskToken = (text: string) => maskSecrets([token, JSON.stringify(token).slice(1, -1)], text);
    const body = parseJsonIfValid(received.text);
    if (status === 200 && body !== undefined) return { body };
    if (status === 200)
      return this.#fail(`The response of ${api} isn't JSON: ${quote(maskToken(received.text), 40)}.`, false);
    if (status >= 300 && status < 400) {
      return this.#fail(`${api} returned a redirect (${status}), which isn't followed.`, false);
    }
    const response = { status, body };
    const waitMs = parseRetryAfterMs(received) ?? 0;
    const { reason, advice } = explain(response);
    const failure = `${api} returned ${status}${reason === "" ? "" : `: ${excerptSentences(maskToken(reason), 300)}`}.`;
    const wait = waitMs > MAX_WAIT_MS ? ` Before a retry, ${formatWait(waitMs, MAX_WAIT_MS)}.` : "";
    return this.#fail(`${failure}${wait} ${advice}`.trim(), isTransient(response), waitMs);
  }

  #fail(text: string, isTransient: boolean, waitMs = 0): FailedAttempt {
    const message = `The source ${this.#options.context.name} can't be read. ${text}`;
    return { error: new SourceError(message), isTransient, waitMs };
  }
}

interface FailedAttempt {
  readonly error: SourceError;
  readonly isTransient: boolean;
  readonly waitMs: number;
}

/** Returns whether an HTTP status usually passes: a rate limit, or a failure of a server or gateway. */
export function isTransientStatus(status: number): boolean {
  return [429, 500, 502, 503, 504].includes(status);
}

function parseJsonIfValid(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
