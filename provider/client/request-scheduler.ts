import { getErrorMessage } from "../model/email-security-error";
import {
  AdaptiveConcurrencyLimiter,
  type Attempt,
  type FailureClass,
  PauseTooLongError,
  type RetryDeadline,
  type ServiceArea,
} from "./adaptive-limit";
import { CircuitBreaker, type LastFailure } from "./circuit-breaker";
import type { AddressConnections } from "./connection-pool";
import type { Deadline } from "./deadline-context";
import {
  CancelledError,
  CircuitOpenError,
  RateLimitedError,
  RateLimitTokenError,
  type RequestInfo,
  ServiceError,
} from "./errors";
import { PageRequestCancelledError } from "./page-prefetcher";
import type { PageRequest } from "./paged-list";
import { type RequestLimiter, RunCancelledError } from "./rate-limiter";
import { FAILURE_SCOPES } from "./response-classification";
import { RetryBudget } from "./retry-budget";
import {
  computeBackoffMs,
  getFailureHandling,
  MAX_ATTEMPTS,
  MAX_RATE_LIMITED_ATTEMPTS,
  RETRY_DEADLINE_MS,
} from "./retry-policy";
import type { Time } from "./time";

/** The scheduler's view of a call. */
export interface ScheduledCall {
  readonly request: RequestInfo;
  /** The request, as messages describe it. */
  readonly requestText: string;
  readonly kind: Attempt["kind"];
  /** Default: the settings. */
  readonly area?: ServiceArea | undefined;
  /** Called with the total duration of the call, without waits for rate limit tokens. */
  readonly onDuration?: ((ms: number) => void) | undefined;
  /** No further attempt is made after the deadline. Default: none. */
  readonly deadline?: Deadline | undefined;
  readonly fetch?: PageRequest | undefined;
}

export interface RequestSchedulerOptions {
  readonly time: Time;
  /** Whether to retry failures. */
  readonly retries: boolean;
  /** The time limit of one attempt, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * The time for which failures are retried after the first attempt, in milliseconds. Doesn't apply to rate-limited
   * requests. Default: the value of the retry policy.
   */
  readonly retryForMs?: number | undefined;
  /** The maximum number of attempts of a failing call. Default: the value of the retry policy. */
  readonly maxAttempts?: number | undefined;
  /** The backoff before the second attempt, in milliseconds. Default: the value of the retry policy. */
  readonly baseDelayMs?: number | undefined;
  /** Provides a token before every attempt. Default: no rate limit. */
  readonly rateLimiter?: RequestLimiter | undefined;
  /** The connections that the tenant shares with others of its address. Default: none. */
  readonly connections?: AddressConnections | undefined;
}

/**
 * Sends the requests of one tenant within its concurrency limit ({@link AdaptiveConcurrencyLimiter}). Retries follow the retry policy and
 * the tenant's retry budget, and an open {@link CircuitBreaker} blocks requests. Reads of mail have their own budget and
 * circuit breaker, so their failures never prevent writes of settings.
 */
export class RequestScheduler {
  readonly #options: RequestSchedulerOptions;
  readonly #limit: AdaptiveConcurrencyLimiter;
  readonly #healthByArea: Readonly<Record<ServiceArea, AreaHealth>>;
  /** Successful writes, by method. */
  readonly #confirmedWrites = new Map<string, number>();

  constructor(options: RequestSchedulerOptions) {
    this.#options = options;
    this.#limit = new AdaptiveConcurrencyLimiter(
      options.time,
      (pauseMs) => options.rateLimiter?.reportThrottled(pauseMs),
      options.connections,
    );
    const { now } = options.time;
    const createHealth = (): AreaHealth => ({
      breaker: new CircuitBreaker({ now }),
      budget: new RetryBudget(),
    });
    this.#healthByArea = { settings: createHealth(), mail: createHealth() };
  }

  /** The current concurrency limit. */
  get concurrency(): number {
    return this.#limit.concurrency;
  }

  /** Consumes one retry of the tenant's budget, for retries that only the caller can make; false if none is left. */
  consumeRetryBudget(): boolean {
    return this.#options.retries && this.#healthByArea.settings.budget.consume();
  }

  /**
   * Runs a call until it succeeds, the policy forbids a retry, or time or budget runs out.
   *
   * @throws {CircuitOpenError} if too many consecutive failures have opened the circuit breaker.
   * @throws {RateLimitTokenError} if the call gets no rate limit token.
   * @throws {ServiceError} the last failure, with the number of attempts. Its `outcomeUnknown` covers all attempts.
   */
  async send<T>(call: ScheduledCall, attempt: () => Promise<T>): Promise<T> {
    const { time } = this.#options;
    const retryDeadline: RetryDeadline = {
      durationMs: Math.max(RETRY_DEADLINE_MS, this.#options.timeoutMs),
      tokenWaitMs: 0,
    };
    const startedAt = time.now();
    try {
      return await this.#send(call, attempt, retryDeadline);
    } finally {
      call.onDuration?.(time.now() - startedAt - retryDeadline.tokenWaitMs);
    }
  }

  async #send<T>(call: ScheduledCall, attempt: () => Promise<T>, retryDeadline: RetryDeadline): Promise<T> {
    const {
      time,
      retryForMs = Number.POSITIVE_INFINITY,
      maxAttempts = MAX_ATTEMPTS,
      baseDelayMs: baseMs,
    } = this.#options;
    const getFirstAttemptAt = () => (retryDeadline.atMs ?? 0) - retryDeadline.durationMs;
    const area = getArea(call);
    const isPastDeadline = (inMs: number) => time.now() + inMs > (retryDeadline.atMs ?? 0);
    let failures = 0;
    let outcomeUnknown = false;
    let lastError: ServiceError | undefined;
    for (let attempts = 1; ; attempts += 1) {
      try {
        const waitForToken = this.#buildTokenWait(call, lastError);
        const limitedAttempt = {
          area,
          kind: call.kind,
          number: attempts,
          retryDeadline,
          waitForToken,
        };
        return await this.#limit.run(
          limitedAttempt,
          async () => {
            call.fetch?.signal.throwIfAborted();
            // The deadline may have passed while the call waited for a slot.
            if (lastError !== undefined && isPastDeadline(0)) throw new DeadlinePassedError();
            return await this.#attempt(call, attempt);
          },
          (error) => classifyFailure(error, area),
        );
      } catch (thrown) {
        if (thrown instanceof DeadlinePassedError && lastError !== undefined) {
          throw this.#annotate(lastError, { attempts: attempts - 1, outcomeUnknown, isBudgetExhausted: false });
        }
        const error = thrown instanceof PauseTooLongError ? buildNotSentError(call, thrown) : thrown;
        if (error instanceof RateLimitTokenError) {
          throw this.#annotate(error, { attempts: attempts - 1, outcomeUnknown, isBudgetExhausted: false });
        }
        if (!(error instanceof ServiceError)) throw error;
        lastError = error;
        outcomeUnknown ||= error.outcomeUnknown;
        const isRateLimit = isRateLimited(error);
        if (!isRateLimit) failures += 1;
        // Refusals pause the tenant, and {@link AdaptiveConcurrencyLimiter} waits for the pause.
        const waitMs = isThrottled(error) ? 0 : computeBackoffMs(failures, time.random(), { baseMs });
        const isTooSlow = !isThrottled(error) && time.now() + waitMs >= getFirstAttemptAt() + retryForMs;
        const isLate = isTooSlow || isPastDeadline(Math.max(waitMs, this.#limit.getRemainingPauseMs(area)));
        const isExhausted = isRateLimit ? attempts >= MAX_RATE_LIMITED_ATTEMPTS : failures >= maxAttempts;
        const isLast =
          !this.#options.retries ||
          call.fetch?.isPrefetch === true ||
          getFailureHandling(error, call.request.method) !== "retry" ||
          isExhausted ||
          isLate;
        const isBudgetExhausted = !isLast && !isRateLimit && !this.#healthByArea[area].budget.consume();
        if (isLast || isBudgetExhausted) throw this.#annotate(error, { attempts, outcomeUnknown, isBudgetExhausted });
        if (waitMs > 0) await time.sleep(waitMs);
      }
    }
  }

  /**
   * Builds the wait before an attempt, if there is a rate limit or a deadline.
   *
   * @param lastError the failure of the previous attempt.
   */
  #buildTokenWait(call: ScheduledCall, lastError: ServiceError | undefined): (() => Promise<void>) | undefined {
    const { rateLimiter } = this.#options;
    const { deadline, fetch } = call;
    if (rateLimiter === undefined && deadline === undefined) return undefined;
    return async () => {
      fetch?.signal.throwIfAborted();
      // Otherwise, hundreds of calls that won't be sent would each take a token from other tenants.
      const openingFailure = this.#healthByArea[getArea(call)].breaker.openingFailure;
      if (openingFailure !== undefined) throw this.#buildCircuitOpenError(call, openingFailure);
      try {
        assertDeadline(deadline);
        await rateLimiter?.acquire();
        assertDeadline(deadline);
      } catch (cause) {
        throw buildRateLimitTokenError(call, cause, lastError);
      }
    };
  }

  async #attempt<T>(call: ScheduledCall, attempt: () => Promise<T>): Promise<T> {
    const { breaker, budget } = this.#healthByArea[getArea(call)];
    const openingFailure = breaker.admit();
    if (openingFailure !== undefined) throw this.#buildCircuitOpenError(call, openingFailure);
    const { burst } = breaker;
    call.deadline?.recordRequest(call.requestText);
    try {
      const answer = await attempt();
      breaker.close();
      budget.refill();
      const { method } = call.request;
      if (method !== "GET") this.#confirmedWrites.set(method, (this.#confirmedWrites.get(method) ?? 0) + 1);
      return answer;
    } catch (error) {
      if (isResponse(error)) breaker.close();
      else if (error instanceof Error && !(error instanceof PageRequestCancelledError))
        breaker.recordFailure(error, burst);
      throw error;
    }
  }

  #buildCircuitOpenError({ requestText, request }: ScheduledCall, lastError: LastFailure): CircuitOpenError {
    return new CircuitOpenError(
      "ERR_CIRCUIT_OPEN",
      `${lastError.message} Because requests kept failing, ${requestText} was not sent. ${this.#describeProgress()}`,
      { request, cause: lastError.error },
    );
  }

  /** Adds facts about the whole call to its last failure, such as the outcome of other attempts. */
  #annotate(
    error: ServiceError,
    {
      attempts,
      outcomeUnknown,
      isBudgetExhausted,
    }: { attempts: number; outcomeUnknown: boolean; isBudgetExhausted: boolean },
  ): ServiceError {
    const isOpen = error instanceof CircuitOpenError;
    const notes = [
      ...(attempts > 1 && !isOpen ? [`Tried ${attempts} times.`] : []),
      ...(isBudgetExhausted
        ? [`Not retried: too many requests failed, and the retry budget is used up. ${this.#describeProgress()}`]
        : []),
    ];
    const message = [error.message, ...notes].join(" ");
    return Object.assign(error, { message, attempts, outcomeUnknown });
  }

  /** Describes the completed writes, and says that the rest can be done later. */
  #describeProgress(): string {
    const counts = [...this.#confirmedWrites].map(([method, count]) => `${count} ${method}`);
    const confirmedText = counts.length === 0 ? "" : `The changes confirmed so far (${counts.join(", ")}) stay. `;
    return `${confirmedText}You can safely run again: only the remaining changes are made.`;
  }
}

/** The health of one area of the API: its circuit breaker and its retry budget. */
interface AreaHealth {
  readonly breaker: CircuitBreaker;
  readonly budget: RetryBudget;
}

function getArea({ area = "settings" }: ScheduledCall): ServiceArea {
  return area;
}

/** The deadline of a call passed while it waited for a slot. */
class DeadlinePassedError extends Error {}

function isRateLimited(error: unknown): boolean {
  return error instanceof ServiceError && error.scope === "rate limit";
}

/** Returns whether the service limits the rate, or asks to wait. */
function isThrottled(error: unknown): error is ServiceError {
  return isRateLimited(error) || (error instanceof ServiceError && error.retryAfterMs !== undefined);
}

function classifyFailure(error: unknown, area: ServiceArea): FailureClass {
  // A rate limit applies to all requests. Other rejected reads of mail don't affect the settings.
  const isOfMail = area === "mail" && !isRateLimited(error);
  if (isThrottled(error)) return { kind: "throttled", error, affectedArea: isOfMail ? "mail" : "all" };
  const isNeutral =
    error instanceof CircuitOpenError ||
    error instanceof DeadlinePassedError ||
    error instanceof PageRequestCancelledError;
  return { kind: isResponse(error) || isNeutral ? "responded" : "failed" };
}

/** Returns whether a failure is a response of a working service. */
function isResponse(error: unknown): boolean {
  return error instanceof ServiceError && FAILURE_SCOPES[error.scope].isBreakerFailure !== true;
}

function buildRateLimitTokenError(
  { requestText, request }: ScheduledCall,
  cause: unknown,
  lastError: ServiceError | undefined,
): RateLimitTokenError {
  const reason = getErrorMessage(cause);
  const [againText, earlierText] = lastError === undefined ? ["", ""] : [" again", ` Before: ${lastError.message}`];
  if (cause instanceof RunCancelledError) {
    const message = `The run was cancelled, so ${requestText} was not sent${againText}. Completed changes stay. Run again to make the rest.${earlierText}`;
    return new CancelledError("ERR_CANCELLED", message, { request, cause });
  }
  return new RateLimitTokenError("ERR_NO_TOKEN", `${requestText} was not sent${againText}: ${reason}.${earlierText}`, {
    request,
    cause,
  });
}

function assertDeadline(deadline: Deadline | undefined): void {
  if (deadline?.isExpired()) throw new Error("the deadline of the operation passed");
}

function buildNotSentError(
  { requestText, request }: ScheduledCall,
  { throttleError }: PauseTooLongError,
): RateLimitedError {
  return new RateLimitedError(
    "ERR_RATE_LIMITED",
    `${requestText} was not sent, because the service requires a longer wait than this run allows: ${throttleError.message}`,
    {
      request,
      cause: throttleError,
      serviceMessage: throttleError.serviceMessage,
      retryAfterMs: throttleError.retryAfterMs,
    },
  );
}
