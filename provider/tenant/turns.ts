/**
 * Lets either writes go on or readings of whole lists, any number of either at a time: own writes that came between two
 * pages would shift them, and the reading would be begun anew again and again. A reading that is asked for goes before
 * the writes that are asked for after it.
 */
export class Turns {
  #writes = 0;
  #reads = 0;
  readonly #waiting: (() => void)[] = [];

  /** Makes a write, after the readings that were asked for before it. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    while (this.#reads > 0) await this.#waitForChange();
    this.#writes += 1;
    try {
      return await work();
    } finally {
      this.#writes -= 1;
      this.#notifyWaiting();
    }
  }

  /** Makes a reading, after the writes that have begun before it. */
  async read<T>(work: () => Promise<T>): Promise<T> {
    this.#reads += 1;
    try {
      while (this.#writes > 0) await this.#waitForChange();
      return await work();
    } finally {
      this.#reads -= 1;
      this.#notifyWaiting();
    }
  }

  #waitForChange(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #notifyWaiting(): void {
    if (this.#writes > 0 && this.#reads > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
