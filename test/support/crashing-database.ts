import type { Database, Queryable, Row, SqlValue } from "../../provider/rollout/database/database";

/** A database in which something happens at any moment: before each statement, and after what was written is there. */
export abstract class InterruptedDatabase implements Database {
  readonly dialect: Database["dialect"];
  /** How many statements were run, with those that begin and end transactions. */
  statements = 0;
  readonly #inner: Database;

  constructor(inner: Database) {
    this.#inner = inner;
    this.dialect = inner.dialect;
  }

  /** @param hasWritten whether what was being written is there. */
  protected abstract moment(hasWritten: boolean): void;

  async query(sql: string, parameters?: readonly SqlValue[]): Promise<readonly Row[]> {
    this.moment(false);
    this.statements += 1;
    const rows = await this.#inner.query(sql, parameters);
    if (!/^\s*SELECT/.test(sql)) this.moment(true);
    return rows;
  }

  async transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T> {
    this.moment(false);
    const result = await this.#inner.transaction(async (transaction) => {
      this.statements += 2;
      const done = await work({
        dialect: this.dialect,
        query: async (sql, parameters) => {
          this.moment(false);
          this.statements += 1;
          return await transaction.query(sql, parameters);
        },
      });
      this.moment(false);
      return done;
    });
    this.moment(true);
    return result;
  }

  lock: Database["lock"] = async (name, lost) => await this.#inner.lock(name, lost);

  isLocked: Database["isLocked"] = async (name) => await this.#inner.isLocked(name);

  shortenBusyTimeout(ms: number): void {
    this.#inner.shortenBusyTimeout(ms);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}

/** What a process that ends in the middle of something says to nobody. */
export class Crash extends Error {}

/**
 * A database whose process ends at a chosen moment: before any statement, within a transaction too, or after what was
 * written is there and before anybody was told. After it nothing is possible any more, as with a process that is gone.
 */
export class CrashingDatabase extends InterruptedDatabase {
  /** How many moments are left until it ends; undefined: it does not. */
  momentsLeft: number | undefined;
  isCrashed = false;
  /** Whether what was being written when it ended is there. */
  hasWritten = false;

  protected override moment(hasWritten: boolean): void {
    if (this.isCrashed) throw new Crash("The process is gone.");
    if (this.momentsLeft === undefined) return;
    this.momentsLeft -= 1;
    if (this.momentsLeft > 0) return;
    this.isCrashed = true;
    this.hasWritten = hasWritten;
    throw new Crash(hasWritten ? "It ended after the writing." : "It ended before it wrote.");
  }
}
