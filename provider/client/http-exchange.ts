import type { Dispatcher } from "undici";

/** The limits of one exchange. */
export interface ExchangeLimits {
  /** The time limit for the complete response, in milliseconds. */
  readonly timeoutMs: number;
  /** The maximum body size, in bytes. */
  readonly maxBytes: number;
  /** Aborts the exchange early. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** A response as received. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, possibly truncated. */
  readonly text: string;
  /**
   * The reason why the response was truncated: {@link ResponseTimeoutError}, {@link BodyTooLargeError}, the signal's
   * reason or the connection's failure.
   */
  readonly truncationCause: Error | undefined;
}

/** The exchange exceeded its time limit. */
export class ResponseTimeoutError extends Error {}

/** The body exceeds the size limit; the rest isn't read. */
export class BodyTooLargeError extends Error {}

/**
 * Sends one request and receives its response. It avoids the streams and signals of undici's `request`, which cost more than
 * processing a small response. Follows no redirects unless the dispatcher has an interceptor for them.
 *
 * @throws {ResponseTimeoutError} or the signal's reason or the connection's failure, if no response has begun.
 */
export async function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  limits: ExchangeLimits,
): Promise<RawResponse> {
  return await new Promise((resolve, reject) => {
    dispatcher.dispatch(
      // One limit covers the whole exchange; undici's own would report a longer one as a broken connection.
      { ...options, headersTimeout: 0, bodyTimeout: 0 },
      new ResponseReceiver(limits, resolve, reject),
    );
  });
}

const MAX_CHUNKS = 1_024;

/** Drops a byte order mark, unlike a Buffer; JSON.parse fails on it. */
const decoder = new TextDecoder();

class ResponseReceiver implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #resolve: (response: RawResponse) => void;
  readonly #reject: (error: Error) => void;
  readonly #blocks: Buffer[] = [];
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #head: Pick<RawResponse, "status" | "headers"> | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #abortReason: Error | undefined;

  constructor(
    { timeoutMs, maxBytes, signal }: ExchangeLimits,
    resolve: (response: RawResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    // The timer must not keep the process alive after a client is dropped.
    this.#timer = setTimeout(() => this.#abort(new ResponseTimeoutError()), timeoutMs).unref();
    signal?.addEventListener("abort", this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abortReason !== undefined) controller.abort(this.#abortReason);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: RawResponse["headers"]): void {
    // 1xx responses (100, 103) are informational.
    if (status >= 200) this.#head = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) this.#abort(new BodyTooLargeError());
    else if (this.#chunks.push(chunk) === MAX_CHUNKS) this.#mergeChunks();
  }

  onResponseEnd(): void {
    this.#settle(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(this.#abortReason ?? error);
  }

  readonly #onAbort = (): void => this.#abort(this.#signal?.reason as Error);

  /** There is nothing to abort before the connection has accepted the request. */
  #abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }

  /** Merges chunks, because a body may arrive as millions of chunks of a byte or two. */
  #mergeChunks(): void {
    this.#blocks.push(Buffer.concat(this.#chunks));
    this.#chunks.length = 0;
  }

  #settle(failure: Error | undefined): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    if (this.#head === undefined) this.#reject(failure ?? new Error("the response has no head"));
    else this.#resolve({ ...this.#head, ...decodeBody([...this.#blocks, ...this.#chunks], failure) });
  }
}

/** A body longer than the maximum string length throws here, in a callback where only undici would catch it. */
function decodeBody(
  chunks: readonly Buffer[],
  failure: Error | undefined,
): Pick<RawResponse, "text" | "truncationCause"> {
  try {
    return { text: decoder.decode(Buffer.concat(chunks)), truncationCause: failure };
  } catch (error) {
    return { text: "", truncationCause: failure ?? (error as Error) };
  }
}

/** Returns the first value of a header. @param name in lower case. */
export function getHeader({ headers }: Pick<RawResponse, "headers">, name: string): string | undefined {
  return [headers[name]].flat()[0];
}
