/** Tracks writes and removals in progress, so that others can wait for them. */
export class OngoingWrites {
  /** The last write in progress of each entry, by id. */
  readonly #writesById = new Map<string, Promise<unknown>>();
  readonly #removals = new Map<string, Promise<unknown>>();

  /** Serializes writes to one entry, because the second depends on the result of the first. */
  async runInSequence<T>(id: string, write: () => Promise<T>): Promise<T> {
    const previousWrite = this.#writesById.get(id);
    const currentWrite = previousWrite === undefined ? write() : previousWrite.then(write, write);
    this.#writesById.set(id, currentWrite);
    try {
      return await currentWrite;
    } finally {
      if (this.#writesById.get(id) === currentWrite) this.#writesById.delete(id);
    }
  }

  async trackRemoval<T>(key: string, removeNow: () => Promise<T>): Promise<T> {
    const removal = removeNow().finally(() => this.#removals.delete(key));
    this.#removals.set(key, removal);
    return await removal;
  }

  /** Finds a row. If that row is being removed, waits for the removal and looks again. */
  async findSettled<Row>(find: () => Promise<Row | undefined>, getKey: (row: Row) => string): Promise<Row | undefined> {
    for (;;) {
      const row = await find();
      const ongoingRemoval = row === undefined ? undefined : this.#removals.get(getKey(row));
      if (ongoingRemoval === undefined) return row;
      await ongoingRemoval.catch(() => undefined);
    }
  }
}
