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

/** A call as the pacer sees it. */
export interface PacedCall {
  readonly request: RequestFacts;
  /** The request as a message names it. */
  readonly what: string;
  readonly kind: Try["kind"];
  /** Default: the settings. */
  readonly area?: Area | undefined;
  /** Told how long the call took in all, the waits for permits aside. */
  readonly took?: ((ms: number) => void) | undefined;
  /** When it is over, no other try is made. Default: none. */
  readonly bound?: Bound | undefined;
}

export interface PacerOptions {
  readonly time: Time;
  /** Whether what fails is tried again. */
  readonly retries: boolean;
  /** How long one try may take, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * For how long after its first try what fails is tried again, in milliseconds; what is refused for too many requests is not
   * bound by it. Default: as long as the policy says.
   */
  readonly retryForMs?: number | undefined;
  /** How many attempts a call that fails gets. Default: as many as the policy says. */
  readonly maxTries?: number | undefined;
  /** The backoff before the second attempt, in milliseconds. Default: as long as the policy says. */
  readonly baseDelayMs?: number | undefined;
  /** Asked before every try. Default: every request may be made. */
  readonly permits?: Permits | undefined;
}

/**
 * Sends the requests of one tenant: no faster than the service bears ({@link AdaptiveLimit}), again where the retry
 * policy says so, within the tenant's retry budget, and not at all while the {@link CircuitBreaker} is open.
 * Reads of mail have a budget and a circuit breaker of their own: whatever they come to, the settings can be written.
 */
export class Pacer {
  readonly #options: PacerOptions;
  readonly #limit: AdaptiveLimit;
  readonly #health: Readonly<Record<Area, Health>>;
  /** The writes that were answered with success, by method. */
  readonly #done = new Map<string, number>();

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#limit = new AdaptiveLimit(options.time, (pauseMs) => options.permits?.refused(pauseMs));
    const { now } = options.time;
    const health = (): Health => ({ breaker: new CircuitBreaker({ now }), budget: new RetryBudget() });
    this.#health = { settings: health(), mail: health() };
  }

  /** How many requests may go on at once now. */
  get concurrency(): number {
    return this.#limit.concurrency;
  }

  /** Takes one retry from the tenant's budget, for what only the caller can make again; false when there is none left. */
  takeRetry(): boolean {
    return this.#options.retries && this.#health.settings.budget.take();
  }

  /**
   * Makes a call: tries it until it succeeds, the policy forbids another try, or there is no time or budget left.
   *
   * @throws {CircuitOpenError} when the service failed so often in a row that no request is made.
   * @throws {PermitRefusedError} when no permit is given for it.
   * @throws {ServiceError} the last failure. It tells how often the call was tried, and its `outcomeUnknown` is that of all
   * tries together.
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
          // It may have waited for its place until now.
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
        // A pause of the tenant is waited for in place.
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

  /** What a try of a call waits for, where there are permits or a bound. @param last how its last try failed. */
  #permit(call: PacedCall, last: ServiceError | undefined): (() => Promise<void>) | undefined {
    const { permits } = this.#options;
    const { bound } = call;
    if (permits === undefined && bound === undefined) return undefined;
    return async () => {
      // Hundreds of calls that will not be sent would each wait for a permit of others.
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

  /** The last failure, with what it can't know: how the other tries of the call ended. */
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

  /** What was done until now, and that the rest can be done later. */
  #progress(): string {
    const counts = [...this.#done].map(([method, count]) => `${count} ${method}`);
    const done = counts.length === 0 ? "" : `The changes confirmed before (${counts.join(", ")}) stay. `;
    return `${done}Running again is safe: it does what is left.`;
  }
}

/** What tells whether one area of the service works. */
interface Health {
  readonly breaker: CircuitBreaker;
  readonly budget: RetryBudget;
}

function areaOf({ area = "settings" }: PacedCall): Area {
  return area;
}

/** The deadline of a call has passed while it waited for a place. */
class TooLate extends Error {}

function isRateLimited(error: unknown): boolean {
  return error instanceof ServiceError && error.scope === "rate limit";
}

/** Whether the service was asked too much, or asks to wait. */
function isRefusal(error: unknown): error is ServiceError {
  return isRateLimited(error) || (error instanceof ServiceError && error.retryAfterMs !== undefined);
}

function effectOf(error: unknown, area: Area): Effect {
  // Too many requests are too many of whatever kind; that the mail can't be read now is no matter of the settings.
  const isOfMail = area === "mail" && !isRateLimited(error);
  if (isRefusal(error)) return { kind: "refused", error, concerns: isOfMail ? "mail" : "all" };
  const isSilent = error instanceof CircuitOpenError || error instanceof TooLate;
  return { kind: isAnswer(error) || isSilent ? "answered" : "failed" };
}

/** Whether a failure is an answer of a service that works. */
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
