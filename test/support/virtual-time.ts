import type { Time } from "../../provider/client/time";

/** A clock that stands still but for those who sleep: each wakes in a later turn of the event loop, and it is late. */
export class VirtualTime implements Time {
  atMs = 0;
  /** What is drawn. With 1 no wait is shortened. */
  chance = 1;
  /** Every sleep, in milliseconds. */
  readonly slept: number[] = [];
  readonly #gatherings: (() => void)[] = [];

  readonly now = () => this.atMs;
  readonly random = () => this.chance;

  readonly sleep = async (ms: number) => {
    const wakesAt = this.atMs + ms;
    this.slept.push(ms);
    await turn();
    this.atMs = Math.max(this.atMs, wakesAt);
  };

  /** What is gathered waits for {@link endGathering}. */
  readonly gather = (begin: () => void) => {
    this.#gatherings.push(begin);
  };

  get gatherings(): number {
    return this.#gatherings.length;
  }

  /** The gathering time is over for all who wait; goes on when what they began has had a turn. */
  async endGathering(): Promise<void> {
    for (const begin of this.#gatherings.splice(0)) begin();
    await turn();
  }
}

/** Lets everything that is ready happen. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
