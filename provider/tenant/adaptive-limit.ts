import PQueue from "p-queue";
import { RateLimitedError } from "../client";
import type { Time } from "./time";

/** How many writes go on at once: to begin with, and at most. At least, it is one. */
const FIRST_CONCURRENCY = 16;
const MAX_CONCURRENCY = 64;
/** Answers are looked at in windows of as many as there are places, and of no fewer than this. */
const MIN_WINDOW = 16;
/** What a window of quick answers adds, and by what a refusal or a slow window multiplies. */
const INCREASE = 4;
const DECREASE = 0.5;
/** A window of answers is slow when they took this many times longer than those of the best window, on average, … */
const SLOW_FACTOR = 2;
/** … and longer than this many milliseconds. */
const NEVER_SLOW_MS = 50;

/** The pause after a first refusal in a row, where the service asks for no longer one; it doubles with each. */
const BASE_PAUSE_MS = 250;
const MAX_PAUSE_MS = 30_000;
/** What one call bears before its refusal goes to the caller: tries, and milliseconds of waiting. */
const MAX_TRIES = 8;
const MAX_WAIT_MS = 120_000;

/** Makes a write as {@link AdaptiveLimit.write} does. */
export type Write = <T>(call: () => Promise<T>, options?: { readonly isBatch?: boolean }) => Promise<T>;

/**
 * How fast one tenant is asked. Writes share a number of places that grows by a few while answers are quick, and
 * halves when the service refuses (429) or its answers get slow. A refused call was not done: the whole tenant pauses,
 * for as long as the service asks and at least for a doubling, jittered while, and then the call is tried again.
 */
export class AdaptiveLimit {
  readonly #time: Time;
  readonly #places = new PQueue({ concurrency: FIRST_CONCURRENCY });
  #pause: { readonly until: number; readonly because: RateLimitedError } | undefined;
  /** Refusals in a row, those of calls that were on their way at the same time counted as one. */
  #refusals = 0;
  /** How often the places were halved: what was sent before the last time has nothing new to say. */
  #era = 0;
  #window = { answers: 0, totalMs: 0 };
  #bestMs = Number.POSITIVE_INFINITY;

  constructor(time: Time) {
    this.#time = time;
  }

  /** How many writes may go on at once now. */
  get concurrency(): number {
    return this.#places.concurrency;
  }

  /**
   * Makes a write when there is a place for it and no pause.
   *
   * @param options.isBatch A request for many: its time tells nothing of the service's, so it is not looked at.
   * @throws {RateLimitedError} when the service refused it 8 times, or it would have to wait for more than 2 minutes in all;
   * where the service asked for that of another call, it is not even sent.
   */
  async write<T>(call: () => Promise<T>, options: { readonly isBatch?: boolean } = {}): Promise<T> {
    const isMeasured = !options.isBatch;
    return await this.#untilAccepted(call, isMeasured, async (attempt, tries) => {
      // Who was refused goes before who was not tried yet, so that it is not refused again and again.
      return await this.#places.add(attempt, { priority: tries });
    });
  }

  /**
   * Makes a read when there is no pause; reads need no place.
   *
   * @throws {RateLimitedError} as {@link write}.
   */
  async read<T>(call: () => Promise<T>): Promise<T> {
    return await this.#untilAccepted(call, false, (attempt) => attempt());
  }

  async #untilAccepted<T>(
    call: () => Promise<T>,
    isMeasured: boolean,
    inPlace: (attempt: () => Promise<T>, tries: number) => Promise<T>,
  ): Promise<T> {
    const patience = { ms: MAX_WAIT_MS };
    for (let tries = 1; ; tries += 1) {
      try {
        // A refused call gives its place back: after the pause there are fewer.
        return await inPlace(async () => {
          await this.#pauseEnd(patience);
          return await this.#attempt(call, isMeasured);
        }, tries);
      } catch (error) {
        const isOver = tries >= MAX_TRIES || this.#pauseLeftMs() > patience.ms;
        if (isOver || !(error instanceof RateLimitedError)) throw error;
      }
    }
  }

  /** Waits for the end of the pause, however often it is put off meanwhile. */
  async #pauseEnd(patience: { ms: number }): Promise<void> {
    for (let leftMs = this.#pauseLeftMs(); leftMs > 0; leftMs = this.#pauseLeftMs()) {
      if (this.#pause !== undefined && leftMs > patience.ms) throw this.#pause.because;
      await this.#time.sleep(leftMs);
      patience.ms -= leftMs;
    }
  }

  #pauseLeftMs(): number {
    return this.#pause === undefined ? 0 : Math.max(0, this.#pause.until - this.#time.now());
  }

  async #attempt<T>(call: () => Promise<T>, isMeasured: boolean): Promise<T> {
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
      if (error instanceof RateLimitedError) this.#refused(error, era);
      else answered();
      throw error;
    }
  }

  #refused(error: RateLimitedError, era: number): void {
    if (era === this.#era || this.#refusals === 0) {
      this.#refusals += 1;
      this.#shrink();
    }
    const doubledMs = Math.min(MAX_PAUSE_MS, BASE_PAUSE_MS * 2 ** (this.#refusals - 1));
    const jitteredMs = doubledMs * (0.5 + this.#time.random() / 2);
    const until = this.#time.now() + Math.max(error.retryAfterMs ?? 0, jitteredMs);
    if (until > (this.#pause?.until ?? 0)) this.#pause = { until, because: error };
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
    // Places that nobody waits for tell nothing about what the service bears.
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
