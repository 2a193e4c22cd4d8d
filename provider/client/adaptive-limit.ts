import PQueue from "p-queue";
import type { ServiceError } from "./errors";
import { delayMs } from "./retry-policy";
import type { Time } from "./time";

/** The initial and maximum number of concurrent requests. The minimum is one. */
const FIRST_CONCURRENCY = 16;
const MAX_CONCURRENCY = 64;
/** Latencies are compared per window, of as many answers as the concurrency limit but at least this many. */
const MIN_WINDOW = 16;
/** The additive increase after a window of fast answers, and the factor after a refusal or a slow window. */
const INCREASE = 4;
const DECREASE = 0.5;
/** A window is slow if its average latency exceeds that of the best window by this factor … */
const SLOW_FACTOR = 2;
/** … and this many milliseconds. */
const NEVER_SLOW_MS = 50;

/**
 * The area of a call: settings, or mail data (threats, metrics, phishing reports). Trouble with mail data must not prevent
 * writes of settings.
 */
export type Area = "settings" | "mail";

/** One attempt of a call. */
export interface Try {
  readonly area: Area;
  /** Only single writes count for latency: the duration of a read or a batch depends on its size. */
  readonly kind: "read" | "write" | "batch";
  /** The number of the attempt within its call, from 1. Retries precede first attempts in the queue. */
  readonly number: number;
  /** The latest start of the call's last attempt. */
  readonly deadline: Deadline;
  /**
   * Waits until the request may be made, after the concurrency slot and the pause. Its errors fail the call. Default: no wait.
   */
  readonly permit?: (() => Promise<void>) | undefined;
}

/** A point in time that is set when the first attempt gets its slot, since a call may wait long for one. */
export interface Deadline {
  atMs?: number;
  readonly inMs: number;
  /** The total time that all attempts waited for permits. */
  permitsMs: number;
}

/** What a failed attempt says about the service: overloaded, failing, or nothing. */
export type Effect =
  | { readonly kind: "refused"; readonly error: ServiceError; readonly concerns: Area | "all" }
  | { readonly kind: "failed" | "answered" };

interface Pause {
  readonly until: number;
  readonly because: ServiceError;
}

/** The pause requested by the service ends after the deadline of a call. */
export class PauseTooLong extends Error {
  readonly because: ServiceError;

  constructor(because: ServiceError) {
    super(because.message, { cause: because });
    this.because = because;
  }
}

/**
 * An adaptive concurrency limit for one tenant. It grows by a few while writes are answered quickly. It halves when the service
 * refuses (429, or a failure with Retry-After), fails or slows down. After a refusal the whole tenant pauses, or one area if
 * the refusal concerns no other. The pause lasts as long as the service asks, and at least for an exponential backoff with
 * jitter.
 */
export class AdaptiveLimit {
  readonly #time: Time;
  readonly #told: (pauseMs: number) => void;
  readonly #places = new PQueue({ concurrency: FIRST_CONCURRENCY });
  readonly #pauses = new Map<Area | "all", Pause>();
  /** Consecutive refusals; those of concurrent calls count once. */
  #refusals = 0;
  /** How often the limit was halved. Failures of requests sent before the last time carry no new information. */
  #era = 0;
  #window = { answers: 0, totalMs: 0 };
  #bestMs = Number.POSITIVE_INFINITY;

  /** @param told called for each pause of the tenant and each extension, with the remaining milliseconds. */
  constructor(time: Time, told: (pauseMs: number) => void = () => {}) {
    this.#time = time;
    this.#told = told;
  }

  /** The current concurrency limit. */
  get concurrency(): number {
    return this.#places.concurrency;
  }

  /** Returns how long the calls of an area still pause, in milliseconds. */
  pauseLeftMs(area: Area): number {
    const pause = this.#pauseOf(area);
    return pause === undefined ? 0 : Math.max(0, pause.until - this.#time.now());
  }

  /**
   * Makes one attempt once there is a free slot and no pause.
   *
   * @param effectOf returns what a failure of the call says about the service.
   * @throws any error of the call or its permit.
   * @throws {PauseTooLong} if the pause lasts beyond the deadline; nothing was sent.
   */
  async make<T>(aTry: Try, call: () => Promise<T>, effectOf: (error: unknown) => Effect): Promise<T> {
    const inPlace = async (): Promise<T> => {
      await this.#admitted(aTry);
      return await this.#measured(call, aTry.kind === "write", effectOf);
    };
    // A refused attempt releases its slot: fewer remain after the pause.
    return await this.#places.add(inPlace, { priority: aTry.number });
  }

  /** Waits for the end of the pause, then for a permit. */
  async #admitted({ area, permit, number, deadline }: Try): Promise<void> {
    deadline.atMs ??= this.#time.now() + deadline.inMs;
    await this.#pauseEnd(area, deadline.atMs);
    while (permit !== undefined) {
      const askedAt = this.#time.now();
      await permit();
      const waitedMs = this.#time.now() - askedAt;
      deadline.permitsMs += waitedMs;
      // With a low rate limit the first attempt may wait long, so the deadline starts after it.
      if (number === 1) deadline.atMs += waitedMs;
      if (this.pauseLeftMs(area) === 0) return;
      // Otherwise this permit would be used in a burst with others after the pause.
      await this.#pauseEnd(area, deadline.atMs);
    }
  }

  /** Waits for the end of the pause, including its extensions. */
  async #pauseEnd(area: Area, deadlineAtMs: number): Promise<void> {
    for (let leftMs = this.pauseLeftMs(area); leftMs > 0; leftMs = this.pauseLeftMs(area)) {
      const pause = this.#pauseOf(area);
      if (pause !== undefined && pause.until > deadlineAtMs) throw new PauseTooLong(pause.because);
      await this.#time.sleep(leftMs);
    }
  }

  /** Returns the longest pause that applies to an area. */
  #pauseOf(area: Area): Pause | undefined {
    const [all, own] = [this.#pauses.get("all"), this.#pauses.get(area)];
    return (own?.until ?? 0) > (all?.until ?? 0) ? own : all;
  }

  async #measured<T>(
    call: () => Promise<T>,
    isMeasured: boolean,
    effectOf: (error: unknown) => Effect,
  ): Promise<T> {
    const era = this.#era;
    const startedAt = this.#time.now();
    const answered = () => {
      if (era !== this.#era) return;
      this.#refusals = 0;
      if (isMeasured) this.#measure(this.#time.now() - startedAt);
    };
    try {
      const answer = await call();
      answered();
      return answer;
    } catch (error) {
      const effect = effectOf(error);
      if (effect.kind === "refused") this.#refused(effect.error, effect.concerns, era);
      else if (effect.kind === "answered") answered();
      // Concurrent failures count once.
      else if (era === this.#era) this.#shrink();
      throw error;
    }
  }

  #refused(error: ServiceError, concerns: Area | "all", era: number): void {
    if (era === this.#era || this.#refusals === 0) {
      this.#refusals += 1;
      this.#shrink();
    }
    const pauseMs = Math.max(error.retryAfterMs ?? 0, delayMs(this.#refusals, this.#time.random()));
    const until = this.#time.now() + pauseMs;
    if (until <= (this.#pauses.get(concerns)?.until ?? 0)) return;
    this.#pauses.set(concerns, { until, because: error });
    if (concerns === "all") this.#told(pauseMs);
  }

  #measure(tookMs: number): void {
    const answers = this.#window.answers + 1;
    const totalMs = this.#window.totalMs + tookMs;
    this.#window = { answers, totalMs };
    if (answers < Math.max(MIN_WINDOW, this.concurrency)) return;
    const averageMs = totalMs / answers;
    this.#window = { answers: 0, totalMs: 0 };
    this.#bestMs = Math.min(this.#bestMs, averageMs);
    if (averageMs > Math.max(NEVER_SLOW_MS, SLOW_FACTOR * this.#bestMs)) this.#shrink();
    // Unused slots say nothing about the capacity of the service.
    else if (this.#places.size > 0) this.#grow();
  }

  #grow(): void {
    this.#places.concurrency = Math.min(MAX_CONCURRENCY, this.concurrency + INCREASE);
  }

  #shrink(): void {
    this.#era += 1;
    this.#window = { answers: 0, totalMs: 0 };
    this.#places.concurrency = Math.max(1, Math.floor(this.concurrency * DECREASE));
  }
}
