/** A pool of shared objects, each used by one caller at a time. */
export class Pool<T> {
  readonly members: T[] = [];
  readonly #free: T[] = [];
  readonly #waiting: ((member: T) => void)[] = [];

  add(member: T): void {
    this.members.push(member);
    this.#give(member);
  }

  /** Waits for a free member and runs `work` with it. */
  async use<R>(work: (member: T) => Promise<R>): Promise<R> {
    const member = this.#free.pop() ?? (await new Promise<T>((resolve) => this.#waiting.push(resolve)));
    try {
      return await work(member);
    } finally {
      this.#give(member);
    }
  }

  #give(member: T): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(member);
    else next(member);
  }
}
