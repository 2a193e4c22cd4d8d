import type { Dispatcher } from "undici";

/** What bounds one exchange. */
export interface ExchangeBounds {
  /** How long it may take until the whole answer is here, in milliseconds. */
  readonly timeoutMs: number;
  /** The largest body that is taken in, in bytes. */
  readonly maxBytes: number;
  /** Ends it before that. Default: nothing does. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer as it came. */
export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The whole body; what came of it, where it broke off. */
  readonly text: string;
  /** Why it broke off: {@link OutOfTime}, {@link TooManyBytes}, the signal's reason or the connection's failure. */
  readonly brokenBy: Error | undefined;
}

/** The exchange took longer than it may. */
export class OutOfTime extends Error {}

/** The body is larger than what is taken in; nothing more of it is read. */
export class TooManyBytes extends Error {}

/**
 * Makes one request and takes its answer in, without the streams and the signals of undici's own `request`, which cost more
 * than all that is made of a small answer. It follows no redirect unless an interceptor is composed into the dispatcher.
 *
 * @throws {OutOfTime} the signal's reason, or the connection's failure, where no answer has begun.
 */
export async function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  limits: ExchangeBounds,
): Promise<Received> {
  return await new Promise((resolve, reject) => {
    dispatcher.dispatch(
      // One limit for the whole; undici's own would end a longer one as a broken connection.
      { ...options, headersTimeout: 0, bodyTimeout: 0 },
      new ResponseReceiver(limits, resolve, reject),
    );
  });
}

const MAX_CHUNKS = 1_024;

/** Drops a byte order mark, unlike a Buffer; JSON.parse would stumble over it. */
const decoder = new TextDecoder();

class ResponseReceiver implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #resolve: (response: Received) => void;
  readonly #reject: (error: Error) => void;
  readonly #blocks: Buffer[] = [];
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #head: Pick<Received, "status" | "headers"> | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #abortReason: Error | undefined;

  constructor(
    { timeoutMs, maxBytes, signal }: ExchangeBounds,
    resolve: (response: Received) => void,
    reject: (error: Error) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    // Whoever drops a client does not wait for it.
    this.#timer = setTimeout(() => this.#abort(new OutOfTime()), timeoutMs).unref();
    signal?.addEventListener("abort", this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abortReason !== undefined) controller.abort(this.#abortReason);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Received["headers"],
  ): void {
    // Others than the last are no answer: 100, 103.
    if (status >= 200) this.#head = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) this.#abort(new TooManyBytes());
    else if (this.#chunks.push(chunk) === MAX_CHUNKS) this.#mergeChunks();
  }

  onResponseEnd(): void {
    this.#settle(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(this.#abortReason ?? error);
  }

  readonly #onAbort = (): void => this.#abort(this.#signal?.reason as Error);

  /** Before the connection has taken the request, there is nothing to end yet. */
  #abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }

  /** Puts chunks together: they may be of a byte or two each, and come by the million. */
  #mergeChunks(): void {
    this.#blocks.push(Buffer.concat(this.#chunks));
    this.#chunks.length = 0;
  }

  #settle(failure: Error | undefined): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    if (this.#head === undefined) this.#reject(failure ?? new Error("the answer has no head"));
    else this.#resolve({ ...this.#head, ...decodeBody([...this.#blocks, ...this.#chunks], failure) });
  }
}

/** What is longer than a text can be is thrown here, where undici would hear of it and nobody else. */
function decodeBody(
  chunks: readonly Buffer[],
  failure: Error | undefined,
): Pick<Received, "text" | "brokenBy"> {
  try {
    return { text: decoder.decode(Buffer.concat(chunks)), brokenBy: failure };
  } catch (error) {
    return { text: "", brokenBy: failure ?? (error as Error) };
  }
}
