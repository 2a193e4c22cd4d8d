import {
  AdaptiveLimit,
  type Area,
  type Deadline,
  type Effect,
  PauseTooLong,
  type Try,
} from "./adaptive-limit";
import type { Bound } from "./bound";
import { CircuitBreaker, type LastFailure } from "./circuit-breaker";
import {
  CancelledError,
  CircuitOpenError,
  PermitRefusedError,
  RateLimitedError,
  type RequestFacts,
  ServiceError,
} from "./errors";
import { type Permits, RunCancelled } from "./permits";
import { SCOPES } from "./response-classification";
import { RetryBudget } from "./retry-budget";
import { DEADLINE_MS, delayMs, handlingOf, MAX_REFUSALS, MAX_TRIES } from "./retry-policy";
import type { Time } from "./time";

/** The pacer's view of a call. */
export interface PacedCall {
  readonly request: RequestFacts;
  /** The request, as messages name it. */
  readonly what: string;
  readonly kind: Try["kind"];
  /** Default: the settings. */
  readonly area?: Area | undefined;
  /** Called with the total duration of the call, without waits for permits. */
  readonly took?: ((ms: number) => void) | undefined;
  /** Once it is over, no further attempt is made. Default: none. */
  readonly bound?: Bound | undefined;
}

export interface PacerOptions {
  readonly time: Time;
  /** Whether to retry failures. */
  readonly retries: boolean;
  /** The time limit of one attempt, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * How long failures are retried after the first attempt, in milliseconds. Doesn't apply to rate-limited requests. Default:
   * the value of the retry policy.
   */
  readonly retryForMs?: number | undefined;
  /** The maximum number of attempts of a failing call. Default: the value of the retry policy. */
  readonly maxTries?: number | undefined;
  /** The backoff before the second attempt, in milliseconds. Default: the value of the retry policy. */
  readonly baseDelayMs?: number | undefined;
  /** Asked before every attempt. Default: no restriction. */
  readonly permits?: Permits | undefined;
}

/**
 * Sends the requests of one tenant within its concurrency limit ({@link AdaptiveLimit}). Retries follow the retry policy and
 * the tenant's retry budget, and an open {@link CircuitBreaker} blocks requests. Reads of mail have their own budget and
 * circuit breaker, so their failures never prevent writes of settings.
 */
export class Pacer {
  readonly #options: PacerOptions;
  readonly #limit: AdaptiveLimit;
  readonly #health: Readonly<Record<Area, Health>>;
  /** The number of successful writes, by method. */
  readonly #done = new Map<string, number>();

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#limit = new AdaptiveLimit(options.time, (pauseMs) => options.permits?.refused(pauseMs));
    const { now } = options.time;
    const health = (): Health => ({ breaker: new CircuitBreaker({ now }), budget: new RetryBudget() });
    this.#health = { settings: health(), mail: health() };
  }

  /** The current concurrency limit. */
  get concurrency(): number {
    return this.#limit.concurrency;
  }

  /** Consumes one retry of the tenant's budget, for retries that only the caller can make; false if none is left. */
  takeRetry(): boolean {
    return this.#options.retries && this.#health.settings.budget.take();
  }

  /**
   * Runs a call until it succeeds, the policy forbids a retry, or time or budget runs out.
   *
   * @throws {CircuitOpenError} if too many consecutive failures have opened the circuit breaker.
   * @throws {PermitRefusedError} if the call gets no permit.
   * @throws {ServiceError} the last failure, with the number of attempts. Its `outcomeUnknown` covers all attempts.
   */
  async send<T>(call: PacedCall, attempt: () => Promise<T>): Promise<T> {
    const { time } = this.#options;
    const deadline: Deadline = { inMs: Math.max(DEADLINE_MS, this.#options.timeoutMs), permitsMs: 0 };
    const begunAt = time.now();
    try {
      return await this.#send(call, attempt, deadline);
    } finally {
      call.took?.(time.now() - begunAt - deadline.permitsMs);
    }
  }

  async #send<T>(call: PacedCall, attempt: () => Promise<T>, deadline: Deadline): Promise<T> {
    const {
      time,
      retryForMs = Number.POSITIVE_INFINITY,
      maxTries = MAX_TRIES,
      baseDelayMs: baseMs,
    } = this.#options;
    const firstAt = () => (deadline.atMs ?? 0) - deadline.inMs;
    const area = areaOf(call);
    const isOver = (inMs: number) => time.now() + inMs > (deadline.atMs ?? 0);
    let failures = 0;
    let outcomeUnknown = false;
    let last: ServiceError | undefined;
    for (let tries = 1; ; tries += 1) {
      try {
        const permit = this.#permit(call, last);
        const aTry = { area, kind: call.kind, number: tries, deadline, permit };
        return await this.#limit.make(
          aTry,
          // The attempt may have waited for its slot until now.
          () =>
            last !== undefined && isOver(0) ? Promise.reject(new TooLate()) : this.#attempt(call, attempt),
          (error) => effectOf(error, area),
        );
      } catch (thrown) {
        if (thrown instanceof TooLate && last !== undefined) {
          throw this.#told(last, { tries: tries - 1, outcomeUnknown, isBroke: false });
        }
        const error = thrown instanceof PauseTooLong ? notSent(call, thrown) : thrown;
        if (error instanceof PermitRefusedError) {
          throw this.#told(error, { tries: tries - 1, outcomeUnknown, isBroke: false });
        }
        if (!(error instanceof ServiceError)) throw error;
        last = error;
        outcomeUnknown ||= error.outcomeUnknown;
        const isTooMany = isRateLimited(error);
        if (!isTooMany) failures += 1;
        // A pause of the tenant is waited for in the slot.
        const waitMs = isRefusal(error) ? 0 : delayMs(failures, time.random(), { baseMs });
        const isTooSlow = !isRefusal(error) && time.now() + waitMs >= firstAt() + retryForMs;
        const isLate = isTooSlow || isOver(Math.max(waitMs, this.#limit.pauseLeftMs(area)));
        const isEnough = isTooMany ? tries >= MAX_REFUSALS : failures >= maxTries;
        const isLast =
          !this.#options.retries || handlingOf(error, call.request.method) !== "retry" || isEnough || isLate;
        const isBroke = !isLast && !isTooMany && !this.#health[area].budget.take();
        if (isLast || isBroke) throw this.#told(error, { tries, outcomeUnknown, isBroke });
        if (waitMs > 0) await time.sleep(waitMs);
      }
    }
  }

  /** Returns the wait before an attempt, if there are permits or a deadline. @param last the failure of the last attempt. */
  #permit(call: PacedCall, last: ServiceError | undefined): (() => Promise<void>) | undefined {
    const { permits } = this.#options;
    const { bound } = call;
    if (permits === undefined && bound === undefined) return undefined;
    return async () => {
      // Otherwise hundreds of calls that won't be sent would each take a permit from others.
      const open = this.#health[areaOf(call)].breaker.openedBy;
      if (open !== undefined) throw this.#circuitOpen(call, open);
      try {
        refuseOver(bound);
        await permits?.take();
        refuseOver(bound);
      } catch (cause) {
        throw refusedPermit(call, cause, last);
      }
    };
  }

  async #attempt<T>(call: PacedCall, attempt: () => Promise<T>): Promise<T> {
    const { breaker, budget } = this.#health[areaOf(call)];
    const open = breaker.admit();
    if (open !== undefined) throw this.#circuitOpen(call, open);
    const { burst } = breaker;
    call.bound?.sends(call.what);
    try {
      const answer = await attempt();
      breaker.close();
      budget.refill();
      const { method } = call.request;
      if (method !== "GET") this.#done.set(method, (this.#done.get(method) ?? 0) + 1);
      return answer;
    } catch (error) {
      if (isAnswer(error)) breaker.close();
      else if (error instanceof Error) breaker.failed(error, burst);
      throw error;
    }
  }

  #circuitOpen({ what, request }: PacedCall, last: LastFailure): CircuitOpenError {
    return new CircuitOpenError(
      "ERR_CIRCUIT_OPEN",
      `${last.message} Since requests kept failing, ${what} was not sent. ${this.#progress()}`,
      { request, cause: last.error },
    );
  }

  /** Returns the last failure with the outcome of the call's other attempts. */
  #told(
    error: ServiceError,
    { tries, outcomeUnknown, isBroke }: { tries: number; outcomeUnknown: boolean; isBroke: boolean },
  ): ServiceError {
    const isOpen = error instanceof CircuitOpenError;
    const notes = [
      ...(tries > 1 && !isOpen ? [`Tried ${tries} times.`] : []),
      ...(isBroke
        ? [`Not tried again: too many requests failed, and the retries are used up. ${this.#progress()}`]
        : []),
    ];
    const message = [error.message, ...notes].join(" ");
    return Object.assign(error, { message, tries, outcomeUnknown });
  }

  /** Returns a summary of the writes done so far, and that the rest can be done later. */
  #progress(): string {
    const counts = [...this.#done].map(([method, count]) => `${count} ${method}`);
    const done = counts.length === 0 ? "" : `The changes confirmed before (${counts.join(", ")}) stay. `;
    return `${done}Running again is safe: it does what is left.`;
  }
}

/** The health of one area of the service. */
interface Health {
  readonly breaker: CircuitBreaker;
  readonly budget: RetryBudget;
}

function areaOf({ area = "settings" }: PacedCall): Area {
  return area;
}

/** The deadline of a call passed while it waited for a slot. */
class TooLate extends Error {}

function isRateLimited(error: unknown): boolean {
  return error instanceof ServiceError && error.scope === "rate limit";
}

/** Whether the service limits the rate, or asks to wait. */
function isRefusal(error: unknown): error is ServiceError {
  return isRateLimited(error) || (error instanceof ServiceError && error.retryAfterMs !== undefined);
}

function effectOf(error: unknown, area: Area): Effect {
  // The rate limit covers requests of any kind; other failures of mail reads don't concern the settings.
  const isOfMail = area === "mail" && !isRateLimited(error);
  if (isRefusal(error)) return { kind: "refused", error, concerns: isOfMail ? "mail" : "all" };
  const isSilent = error instanceof CircuitOpenError || error instanceof TooLate;
  return { kind: isAnswer(error) || isSilent ? "answered" : "failed" };
}

/** Whether a failure is a response of a working service. */
function isAnswer(error: unknown): boolean {
  return error instanceof ServiceError && SCOPES[error.scope].isBreakerFailure !== true;
}

function refusedPermit(
  { what, request }: PacedCall,
  cause: unknown,
  last: ServiceError | undefined,
): PermitRefusedError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const [again, before] = last === undefined ? ["", ""] : [" again", ` Before: ${last.message}`];
  if (cause instanceof RunCancelled) {
    const message = `The run was cancelled, so ${what} was not sent${again}. What was done before stays; running again does what is left.${before}`;
    return new CancelledError("ERR_CANCELLED", message, { request, cause });
  }
  return new PermitRefusedError("ERR_NO_PERMIT", `${what} was not sent${again}: ${reason}.${before}`, {
    request,
    cause,
  });
}

function refuseOver(bound: Bound | undefined): void {
  if (bound?.isOver()) throw new Error("the time of what asked for it is over");
}

function notSent({ what, request }: PacedCall, { because }: PauseTooLong): RateLimitedError {
  return new RateLimitedError(
    "ERR_RATE_LIMITED",
    `${what} was not sent, since the service asked to wait for longer than this run does: ${because.message}`,
    { request, cause: because, serviceMessage: because.serviceMessage, retryAfterMs: because.retryAfterMs },
  );
}
