import PQueue from "p-queue";
import type { ServiceError } from "./errors";
import { computeBackoffMs } from "./retry-policy";
import type { Time } from "./time";

/** How many requests go on at once: to begin with, and at most. At least, it is one. */
const INITIAL_CONCURRENCY = 16;
const MAX_CONCURRENCY = 64;
/** Answers are looked at in windows of as many as there are places, and of no fewer than this. */
const MIN_WINDOW = 16;
/** What a window of quick answers adds, and by what a refusal or a slow window multiplies. */
const INCREASE = 4;
const DECREASE = 0.5;
/** A window of answers is slow when they took this many times longer than those of the best window, on average, … */
const SLOW_FACTOR = 2;
/** … and longer than this many milliseconds. */
const MIN_SLOW_MS = 50;

/**
 * What a call is about: the settings, or the mail that was seen (threats, metrics, phishing reports). Trouble with the mail is
 * no reason not to write the settings.
 */
export type ServiceArea = "settings" | "mail";

/** One try of a call. */
export interface Attempt {
  readonly area: ServiceArea;
  /** Of a read, and of a batch (a write of many things), the time tells nothing of the service's, so it is not looked at. */
  readonly kind: "read" | "write" | "batch";
  /** Which try of its call this is, from 1: who was tried before goes before who was not. */
  readonly number: number;
  /** When the call must have begun its last try. */
  readonly retryDeadline: RetryDeadline;
  /** Waits until the request may be made, after the place and the pause. Default: it may. What it throws, the call does. */
  readonly waitForToken?: (() => Promise<void>) | undefined;
}

/** A point in time that is set when the first try has its place, since a call may wait for one for long. */
export interface RetryDeadline {
  atMs?: number;
  readonly durationMs: number;
  /** How long all tries together waited for permits, which others may need first. */
  tokenWaitMs: number;
}

/** What a failed try tells of the service: asked too much, in trouble, or none of it. */
export type FailureEffect =
  | { readonly kind: "refused"; readonly error: ServiceError; readonly affectedArea: ServiceArea | "all" }
  | { readonly kind: "failed" | "answered" };

interface Pause {
  readonly untilMs: number;
  readonly refusal: ServiceError;
}

/** The pause that the service asked for ends after the deadline of a call. */
export class PauseTooLongError extends Error {
  readonly refusal: ServiceError;

  constructor(refusal: ServiceError) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
  }
}

/**
 * How fast one tenant is asked. Requests share a number of places that grows by a few while writes are answered quickly,
 * and halves when the service refuses (429, or a failure with Retry-After), fails, or gets slow.
 * After a refusal the whole tenant pauses, for as long as the service asks and at least for a doubling, jittered while; or
 * the calls of one area, where the refusal concerns no other.
 */
export class AdaptiveLimit {
  readonly #time: Time;
  readonly #onPause: (pauseMs: number) => void;
  readonly #queue = new PQueue({ concurrency: INITIAL_CONCURRENCY });
  readonly #pauses = new Map<ServiceArea | "all", Pause>();
  /** Refusals in a row, those of calls that were on their way at the same time counted as one. */
  #refusals = 0;
  /** How often the places were halved: what was sent before the last time has nothing new to say. */
  #shrinkCount = 0;
  #window = { answers: 0, totalMs: 0 };
  #bestMs = Number.POSITIVE_INFINITY;

  /** @param onPause of each pause of the tenant, and of each time that it is put off, in milliseconds from then. */
  constructor(time: Time, onPause: (pauseMs: number) => void = () => {}) {
    this.#time = time;
    this.#onPause = onPause;
  }

  /** How many requests may go on at once now. */
  get concurrency(): number {
    return this.#queue.concurrency;
  }

  /** How long the calls of an area still pause, in milliseconds. */
  getRemainingPauseMs(area: ServiceArea): number {
    const pause = this.#getPause(area);
    return pause === undefined ? 0 : Math.max(0, pause.untilMs - this.#time.now());
  }

  /**
   * Makes one try when there is a place for it and no pause.
   *
   * @param classifyEffect What a failure of the call tells of the service.
   * @throws what the call, or its permit, throws.
   * @throws {PauseTooLongError} when the pause lasts beyond the deadline; nothing was sent.
   */
  async run<T>(
    attempt: Attempt,
    call: () => Promise<T>,
    classifyEffect: (error: unknown) => FailureEffect,
  ): Promise<T> {
    const runInSlot = async (): Promise<T> => {
      await this.#waitForAdmission(attempt);
      return await this.#runMeasured(call, attempt.kind === "write", classifyEffect);
    };
    // A refused try gives its place back: after the pause there are fewer.
    return await this.#queue.add(runInSlot, { priority: attempt.number });
  }

  /** Waits for the end of the pause, and then for a permit. */
  async #waitForAdmission({ area, waitForToken, number, retryDeadline }: Attempt): Promise<void> {
    retryDeadline.atMs ??= this.#time.now() + retryDeadline.durationMs;
    await this.#waitForPauseEnd(area, retryDeadline.atMs);
    while (waitForToken !== undefined) {
      const waitStartedAt = this.#time.now();
      await waitForToken();
      const waitedMs = this.#time.now() - waitStartedAt;
      retryDeadline.tokenWaitMs += waitedMs;
      // Under a low rate the first try may wait for long: its call has not begun yet.
      if (number === 1) retryDeadline.atMs += waitedMs;
      if (this.getRemainingPauseMs(area) === 0) return;
      // After the pause this permit would be used together with others, in a bunch.
      await this.#waitForPauseEnd(area, retryDeadline.atMs);
    }
  }

  /** Waits for the end of the pause, however often it is put off meanwhile. */
  async #waitForPauseEnd(area: ServiceArea, lastAttemptAtMs: number): Promise<void> {
    for (
      let remainingMs = this.getRemainingPauseMs(area);
      remainingMs > 0;
      remainingMs = this.getRemainingPauseMs(area)
    ) {
      const pause = this.#getPause(area);
      if (pause !== undefined && pause.untilMs > lastAttemptAtMs) throw new PauseTooLongError(pause.refusal);
      await this.#time.sleep(remainingMs);
    }
  }

  /** The pause that lasts longest of those that an area keeps. */
  #getPause(area: ServiceArea): Pause | undefined {
    const [globalPause, areaPause] = [this.#pauses.get("all"), this.#pauses.get(area)];
    return (areaPause?.untilMs ?? 0) > (globalPause?.untilMs ?? 0) ? areaPause : globalPause;
  }

  async #runMeasured<T>(
    call: () => Promise<T>,
    isMeasured: boolean,
    classifyEffect: (error: unknown) => FailureEffect,
  ): Promise<T> {
    const shrinkCount = this.#shrinkCount;
    const startedAt = this.#time.now();
    const recordAnswer = () => {
      if (shrinkCount !== this.#shrinkCount) return;
      this.#refusals = 0;
      if (isMeasured) this.#recordDuration(this.#time.now() - startedAt);
    };
    try {
      const answer = await call();
      recordAnswer();
      return answer;
    } catch (error) {
      const effect = classifyEffect(error);
      if (effect.kind === "refused") this.#recordRefusal(effect.error, effect.affectedArea, shrinkCount);
      else if (effect.kind === "answered") recordAnswer();
      // Once for all that were on their way.
      else if (shrinkCount === this.#shrinkCount) this.#shrink();
      throw error;
    }
  }

  #recordRefusal(error: ServiceError, concerns: ServiceArea | "all", shrinkCount: number): void {
    if (shrinkCount === this.#shrinkCount || this.#refusals === 0) {
      this.#refusals += 1;
      this.#shrink();
    }
    const pauseMs = Math.max(error.retryAfterMs ?? 0, computeBackoffMs(this.#refusals, this.#time.random()));
    const untilMs = this.#time.now() + pauseMs;
    if (untilMs <= (this.#pauses.get(concerns)?.untilMs ?? 0)) return;
    this.#pauses.set(concerns, { untilMs, refusal: error });
    if (concerns === "all") this.#onPause(pauseMs);
  }

  #recordDuration(answerMs: number): void {
    const answers = this.#window.answers + 1;
    const totalMs = this.#window.totalMs + answerMs;
    this.#window = { answers, totalMs };
    if (answers < Math.max(MIN_WINDOW, this.concurrency)) return;
    const averageMs = totalMs / answers;
    this.#window = { answers: 0, totalMs: 0 };
    this.#bestMs = Math.min(this.#bestMs, averageMs);
    if (averageMs > Math.max(MIN_SLOW_MS, SLOW_FACTOR * this.#bestMs)) this.#shrink();
    // Places that nobody waits for tell nothing about what the service bears.
    else if (this.#queue.size > 0) this.#grow();
  }

  #grow(): void {
    this.#queue.concurrency = Math.min(MAX_CONCURRENCY, this.concurrency + INCREASE);
  }

  #shrink(): void {
    this.#shrinkCount += 1;
    this.#window = { answers: 0, totalMs: 0 };
    this.#queue.concurrency = Math.max(1, Math.floor(this.concurrency * DECREASE));
  }
}
