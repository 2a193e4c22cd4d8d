/**
 * A lock that admits either writes or reads of whole lists, any number of either at a time. Own writes between two
 * pages would shift them, and the read would restart again and again. A waiting read precedes writes that are requested
 * after it.
 */
export class ReadWriteLock {
  #writes = 0;
  #reads = 0;
  readonly #waiting: (() => void)[] = [];

  /** Runs a write, after the reads that were requested before it. */
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

  /** Runs a read, after the writes that began before it. */
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
