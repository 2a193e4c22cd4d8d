import PQueue from "p-queue";
import type { AddressConnections } from "./connection-pool";
import { ServiceError } from "./errors";
import { computeBackoffMs } from "./retry-policy";
import type { Time } from "./time";

/** The initial and maximum number of concurrent requests. The minimum is one. */
export const INITIAL_CONCURRENCY = 16;
const MAX_CONCURRENCY = 64;
/** The minimum window size, in responses. Otherwise a window has as many responses as the concurrency limit. */
const MIN_WINDOW = 16;
/**
 * After a window of fast responses with calls in the queue, the limit grows by INCREASE. After a throttled request, a failure or a slow window, it is
 * multiplied by DECREASE.
 */
const INCREASE = 4;
const DECREASE = 0.5;
/** A window is slow if its average response time exceeds the best window's by this factor and is above {@link MIN_SLOW_MS}. */
const SLOW_FACTOR = 2;
/** No window with an average response time below this is slow. */
const MIN_SLOW_MS = 50;

/**
 * The area of the API that a call uses: settings, or observed mail (threats, metrics, phishing reports). Failures in
 * the mail area must not block writes of settings.
 */
export type ServiceArea = "settings" | "mail";

/** One attempt of a call. */
export interface Attempt {
  readonly area: ServiceArea;
  /** Response times are measured for writes only: those of reads and batches depend on the amount of data. */
  readonly kind: "read" | "write" | "batch";
  /** The number of the attempt, from 1. Retries have priority over first attempts. */
  readonly number: number;
  /** The deadline for starting the last attempt. */
  readonly retryDeadline: RetryDeadline;
  /** Waits for a rate limit token, after the slot and the pause. Default: no wait. Its errors reject the call. */
  readonly waitForToken?: (() => Promise<void>) | undefined;
}

/** A deadline that is set once the first attempt has a slot, because a call may wait long for one. */
export interface RetryDeadline {
  atMs?: number;
  readonly durationMs: number;
  /** The total time that all attempts waited for rate limit tokens. */
  tokenWaitMs: number;
}

/** The state of the service that a failed attempt shows: it throttles, it fails, or it works. */
export type FailureClass =
  | { readonly kind: "throttled"; readonly error: ServiceError; readonly affectedArea: ServiceArea | "all" }
  | { readonly kind: "failed" | "responded" };

interface Pause {
  readonly untilMs: number;
  readonly throttleError: ServiceError;
}

/** The pause that the service requested ends after the deadline of a call. */
export class PauseTooLongError extends Error {
  readonly throttleError: ServiceError;

  constructor(throttleError: ServiceError) {
    super(throttleError.message, { cause: throttleError });
    this.throttleError = throttleError;
  }
}

/**
 * An adaptive concurrency limit for one tenant. It grows by a constant while responses to writes are fast, and halves when
 * the service throttles (429, or a failure with Retry-After), fails, or slows down. After a throttled request, the whole tenant
 * pauses for as long as the service requests, but at least for an exponential backoff with jitter. If the throttling
 * affects only one area, only that area pauses.
 */
export class AdaptiveConcurrencyLimiter {
  readonly #time: Time;
  readonly #onPause: (pauseMs: number) => void;
  readonly #connections: AddressConnections | undefined;
  readonly #queue = new PQueue({ concurrency: INITIAL_CONCURRENCY });
  readonly #pauses = new Map<ServiceArea | "all", Pause>();
  /** Consecutive throttled calls. Concurrent ones count as one. */
  #throttleCount = 0;
  /** The number of times the limit was halved. A response to a request sent before the last time doesn't affect the limit; throttling does if none was counted since the last success. */
  #shrinkCount = 0;
  #window = { responseCount: 0, totalMs: 0 };
  #bestMs = Number.POSITIVE_INFINITY;

  /**
   * @param onPause called for each pause of the tenant, and each time it is extended, with the milliseconds from now.
   * @param connections the connections that the tenant shares with others, which limit the requests of all. Default: none.
   */
  constructor(time: Time, onPause: (pauseMs: number) => void = () => {}, connections?: AddressConnections) {
    this.#time = time;
    this.#onPause = onPause;
    this.#connections = connections;
  }

  /** The current concurrency limit. */
  get concurrency(): number {
    return this.#queue.concurrency;
  }

  /** Returns the remaining pause of an area, in milliseconds. */
  getRemainingPauseMs(area: ServiceArea): number {
    const pause = this.#getPause(area);
    return pause === undefined ? 0 : Math.max(0, pause.untilMs - this.#time.now());
  }

  /**
   * Runs one attempt when it has a slot and nothing is paused.
   *
   * @param classifyFailure returns what a failure of the call says about the service.
   * @throws the errors of the call and of `waitForToken`.
   * @throws {PauseTooLongError} if the pause lasts beyond the deadline; nothing was sent.
   */
  async run<T>(
    attempt: Attempt,
    call: () => Promise<T>,
    classifyFailure: (error: unknown) => FailureClass,
  ): Promise<T> {
    const runAdmitted = async (): Promise<T> => {
      await this.#waitForAdmission(attempt);
      return await this.#runMeasured(call, attempt.kind === "write", classifyFailure);
    };
    const runInSlot = async (): Promise<T> => {
      if (this.#connections === undefined) return await runAdmitted();
      // A paused tenant must not take the slots of others.
      await this.#waitForPause(attempt);
      const waitStartedAt = this.#time.now();
      return await this.#connections.run(async () => {
        postponeDeadline(attempt, this.#time.now() - waitStartedAt);
        return await runAdmitted();
      });
    };
    // A throttled attempt frees its slot, because the limit is lower after the pause.
    return await this.#queue.add(runInSlot, { priority: attempt.number });
  }

  /** Waits for the end of the pause, then for a rate limit token. */
  async #waitForAdmission(attempt: Attempt): Promise<void> {
    const { waitForToken, retryDeadline } = attempt;
    await this.#waitForPause(attempt);
    while (waitForToken !== undefined) {
      const waitStartedAt = this.#time.now();
      await waitForToken();
      const waitedMs = this.#time.now() - waitStartedAt;
      retryDeadline.tokenWaitMs += waitedMs;
      postponeDeadline(attempt, waitedMs);
      if (this.getRemainingPauseMs(attempt.area) === 0) return;
      // A token from before the pause is discarded: using it now would cause a burst.
      await this.#waitForPause(attempt);
    }
  }

  /** Waits for the end of the pause, including extensions. */
  async #waitForPause({ area, retryDeadline }: Attempt): Promise<void> {
    retryDeadline.atMs ??= this.#time.now() + retryDeadline.durationMs;
    for (
      let remainingMs = this.getRemainingPauseMs(area);
      remainingMs > 0;
      remainingMs = this.getRemainingPauseMs(area)
    ) {
      const pause = this.#getPause(area);
      if (pause !== undefined && pause.untilMs > retryDeadline.atMs) throw new PauseTooLongError(pause.throttleError);
      await this.#time.sleep(remainingMs);
    }
  }

  /** Returns the longest pause that applies to an area. */
  #getPause(area: ServiceArea): Pause | undefined {
    const [globalPause, areaPause] = [this.#pauses.get("all"), this.#pauses.get(area)];
    return (areaPause?.untilMs ?? 0) > (globalPause?.untilMs ?? 0) ? areaPause : globalPause;
  }

  async #runMeasured<T>(
    call: () => Promise<T>,
    isMeasured: boolean,
    classifyFailure: (error: unknown) => FailureClass,
  ): Promise<T> {
    const shrinkCount = this.#shrinkCount;
    const startedAt = this.#time.now();
    const endRequest = this.#connections?.startRequest();
    const recordResponse = () => {
      endRequest?.(false);
      if (shrinkCount !== this.#shrinkCount) return;
      this.#throttleCount = 0;
      if (isMeasured) this.#recordDuration(this.#time.now() - startedAt);
    };
    try {
      const result = await call();
      recordResponse();
      return result;
    } catch (error) {
      const effect = classifyFailure(error);
      // Other errors say nothing about the service, for example after a tenant's reads were aborted.
      if (effect.kind !== "responded" && error instanceof ServiceError) endRequest?.(true);
      if (effect.kind === "throttled") this.#recordThrottle(effect.error, effect.affectedArea, shrinkCount);
      else if (effect.kind === "responded") recordResponse();
      // Shrinks once for all concurrent requests.
      else if (shrinkCount === this.#shrinkCount) this.#shrink();
      throw error;
    }
  }

  #recordThrottle(error: ServiceError, affectedArea: ServiceArea | "all", shrinkCount: number): void {
    if (shrinkCount === this.#shrinkCount || this.#throttleCount === 0) {
      this.#throttleCount += 1;
      this.#shrink();
    }
    const pauseMs = Math.max(error.retryAfterMs ?? 0, computeBackoffMs(this.#throttleCount, this.#time.random()));
    const untilMs = this.#time.now() + pauseMs;
    if (untilMs <= (this.#pauses.get(affectedArea)?.untilMs ?? 0)) return;
    this.#pauses.set(affectedArea, { untilMs, throttleError: error });
    if (affectedArea === "all") this.#onPause(pauseMs);
  }

  #recordDuration(durationMs: number): void {
    const responseCount = this.#window.responseCount + 1;
    const totalMs = this.#window.totalMs + durationMs;
    this.#window = { responseCount, totalMs };
    if (responseCount < Math.max(MIN_WINDOW, this.concurrency)) return;
    const averageMs = totalMs / responseCount;
    this.#window = { responseCount: 0, totalMs: 0 };
    this.#bestMs = Math.min(this.#bestMs, averageMs);
    if (averageMs > Math.max(MIN_SLOW_MS, SLOW_FACTOR * this.#bestMs)) this.#shrink();
    // Without queued calls, fast responses don't show that the service can bear more.
    else if (this.#queue.size > 0) this.#grow();
  }

  #grow(): void {
    this.#queue.concurrency = Math.min(MAX_CONCURRENCY, this.concurrency + INCREASE);
  }

  #shrink(): void {
    this.#shrinkCount += 1;
    this.#window = { responseCount: 0, totalMs: 0 };
    this.#queue.concurrency = Math.max(1, Math.floor(this.concurrency * DECREASE));
  }
}

/** The first attempt may wait long for a token at a low rate, or for other tenants. That wait doesn't count against the deadline. */
function postponeDeadline({ number, retryDeadline }: Attempt, waitedMs: number): void {
  if (number === 1 && retryDeadline.atMs !== undefined) retryDeadline.atMs += waitedMs;
}
