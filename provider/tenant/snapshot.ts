import { Rows } from "./rows";

export interface SnapshotOptions<Row> {
  /** Reads the whole list. */
  readonly read: () => Promise<readonly Row[]>;
  /** What a row is known by; undefined for a row that can't be told apart and is left out. */
  readonly key: (row: Row) => string | undefined;
  /** What a row is called, beside its key; several rows may share a name. */
  readonly name: (row: Row) => string;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
}

/** A reading is used while calls follow each other closely: after so long without one, it is read anew. */
const MAX_IDLE_MS = 5_000;
/** And never for longer than this, however busy the process is. */
const MAX_AGE_MS = 60_000;

/**
 * One list of the tenant as the provider process sees it: a whole reading, shared by all who ask while it is young,
 * kept true by the process's own writes.
 *
 * Calls that ask at the same time share one reading. A write that happens while a reading is under way is laid over
 * its result, for the reading may or may not have seen it.
 */
export class Snapshot<Row> {
  readonly #options: SnapshotOptions<Row>;
  #rows: Rows<Row> | undefined;
  #readAt = 0;
  #usedAt = 0;
  #reading: Reading<Row> | undefined;

  constructor(options: SnapshotOptions<Row>) {
    this.#options = options;
  }

  /** The rows by key: the shared reading if it is young enough, else a new one. */
  async rows(): Promise<Rows<Row>> {
    const now = this.#options.now();
    const young = now - this.#usedAt <= MAX_IDLE_MS && now - this.#readAt <= MAX_AGE_MS;
    this.#usedAt = now;
    if (this.#rows !== undefined && young) return this.#rows;
    return await (this.#reading?.result ?? this.#read());
  }

  /** The rows by a reading that begins after this call, shared with others who ask for one before it begins. */
  async fresh(): Promise<Rows<Row>> {
    const underWay = this.#reading?.result;
    if (underWay !== undefined) {
      // It began before this call, so it may be older than what the caller wants to see.
      await underWay.catch(() => undefined);
    }
    return await (this.#reading?.result ?? this.#read());
  }

  /** The row of the last reading, with the own writes since, if there was one. Reads nothing. */
  known(key: string): Row | undefined {
    return this.#rows?.get(key);
  }

  /** Lays an own write over the reading: the row as the service answered it. */
  put(row: Row): void {
    const key = this.#options.key(row);
    if (key === undefined) return;
    this.#rows?.set(key, row);
    this.#reading?.writes.set(key, row);
  }

  /** Lays an own removal over the reading. */
  drop(key: string): void {
    this.#rows?.delete(key);
    this.#reading?.writes.set(key, undefined);
  }

  #read(): Promise<Rows<Row>> {
    const writes = new Map<string, Row | undefined>();
    const result = this.#load(writes).finally(() => {
      this.#reading = undefined;
    });
    this.#reading = { result, writes };
    return result;
  }

  async #load(writes: ReadonlyMap<string, Row | undefined>): Promise<Rows<Row>> {
    const startedAt = this.#options.now();
    const rows = new Rows(this.#options.name);
    for (const row of await this.#options.read()) {
      const key = this.#options.key(row);
      if (key !== undefined) rows.set(key, row);
    }
    for (const [key, row] of writes) {
      if (row === undefined) rows.delete(key);
      else rows.set(key, row);
    }
    this.#rows = rows;
    this.#readAt = startedAt;
    this.#usedAt = this.#options.now();
    return rows;
  }
}

interface Reading<Row> {
  readonly result: Promise<Rows<Row>>;
  readonly writes: Map<string, Row | undefined>;
}
