import { CIRCUIT_OPEN_MS, CIRCUIT_WAVES } from "./retry-policy";
import type { Time } from "./time";

/** A failure with its message as it was then: what is added to it later is of its own call. */
export interface LastFailure {
  readonly error: Error;
  readonly message: string;
}

/**
 * Keeps requests from a service that only fails: after several waves of failures without an answer between them it is
 * open, and no request is made; then one is, to see.
 *
 * What was on its way when another failed is of the same wave: a moment's outage that breaks 64 requests is one.
 */
export class Circuit {
  readonly #now: Time["now"];
  #wave = 0;
  #wavesInARow = 0;
  #last: LastFailure | undefined;
  #nextTryAt = 0;

  constructor({ now }: Pick<Time, "now">) {
    this.#now = now;
  }

  /** What {@link check} would answer now, for who does not make the request yet. */
  peek(): LastFailure | undefined {
    if (this.#wavesInARow < CIRCUIT_WAVES) return undefined;
    return this.#now() < this.#nextTryAt ? this.#last : undefined;
  }

  /** The last of the failures that keep a request from being made now; undefined when it may be made. */
  check(): LastFailure | undefined {
    const last = this.peek();
    if (last !== undefined || this.#wavesInARow < CIRCUIT_WAVES) return last;
    // One goes, to see; the next only when its answer is here, or long after.
    this.#nextTryAt = this.#now() + CIRCUIT_OPEN_MS;
    return undefined;
  }

  /** A request is made; answers what tells its wave. */
  begin(): number {
    return this.#wave;
  }

  /** The service answered, whatever it was. */
  answered(): void {
    this.#wavesInARow = 0;
  }

  /** A request of a wave failed. */
  failed(wave: number, error: Error): void {
    this.#last = { error, message: error.message };
    if (wave !== this.#wave) return;
    this.#wave += 1;
    this.#wavesInARow += 1;
    if (this.#wavesInARow >= CIRCUIT_WAVES) this.#nextTryAt = this.#now() + CIRCUIT_OPEN_MS;
  }
}
