/** Tracks writes and removals in progress, so others can wait for them. */
export class OngoingWrites {
  /** The last write in progress of each entry, by id. */
  readonly #writing = new Map<string, Promise<unknown>>();
  /** Removals in progress, by id or mailbox; readers of the same key wait for them. */
  readonly #leaving = new Map<string, Promise<unknown>>();

  /** Serializes writes to one entry, since the second depends on the result of the first. */
  async inSequence<T>(id: string, write: () => Promise<T>): Promise<T> {
    const before = this.#writing.get(id);
    const mine = before === undefined ? write() : before.then(write, write);
    this.#writing.set(id, mine);
    try {
      return await mine;
    } finally {
      if (this.#writing.get(id) === mine) this.#writing.delete(id);
    }
  }

  /** Runs a removal and tracks it until its outcome is known. */
  async remove<T>(key: string, work: () => Promise<T>): Promise<T> {
    const removal = work().finally(() => this.#leaving.delete(key));
    this.#leaving.set(key, removal);
    return await removal;
  }

  /** Finds a row. If that row is being removed, waits for the removal and looks again. */
  async findSettled<Row>(
    find: () => Promise<Row | undefined>,
    keyOf: (row: Row) => string,
  ): Promise<Row | undefined> {
    for (;;) {
      const row = await find();
      const leaving = row === undefined ? undefined : this.#leaving.get(keyOf(row));
      if (leaving === undefined) return row;
      await leaving.catch(() => undefined);
    }
  }
}
