/** The writes and removals that are under way, so that others can wait for them. */
export class OngoingWrites {
  /** The last write of each entry that is under way, by id. */
  readonly #writing = new Map<string, Promise<unknown>>();
  /** What is being removed right now, by id or mailbox: who asks for it is told when that is done. */
  readonly #leaving = new Map<string, Promise<unknown>>();

  /** Writes to one entry follow each other: what the second does depends on what the first has made of it. */
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

  /** Removes something, and has it noted until it is known what came of it. */
  async remove<T>(key: string, work: () => Promise<T>): Promise<T> {
    const removal = work().finally(() => this.#leaving.delete(key));
    this.#leaving.set(key, removal);
    return await removal;
  }

  /** Finds a row. Where that row is being removed, waits until this is done and looks again. */
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
