import type { Database, Queryable, Row, SqlValue } from "../../provider/rollout/database/database";

/** A database that can be interrupted at any moment: before each statement, and after a write took effect. */
export abstract class InterruptedDatabase implements Database {
  readonly dialect: Database["dialect"];
  /** The number of statements run, including those that begin and end transactions. */
  statements = 0;
  readonly #inner: Database;

  constructor(inner: Database) {
    this.#inner = inner;
    this.dialect = inner.dialect;
  }

  /** @param hasWritten whether the current write took effect. */
  protected abstract countMoment(hasWritten: boolean): void;

  async query(sql: string, parameters?: readonly SqlValue[]): Promise<readonly Row[]> {
    this.countMoment(false);
    this.statements += 1;
    const rows = await this.#inner.query(sql, parameters);
    if (!/^\s*SELECT/.test(sql)) this.countMoment(true);
    return rows;
  }

  async transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T> {
    this.countMoment(false);
    const result = await this.#inner.transaction(async (transaction) => {
      this.statements += 2;
      const done = await work({
        dialect: this.dialect,
        query: async (sql, parameters) => {
          this.countMoment(false);
          this.statements += 1;
          return await transaction.query(sql, parameters);
        },
      });
      this.countMoment(false);
      return done;
    });
    this.countMoment(true);
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

/** Thrown in place of a process that ends in the middle of an operation. */
export class Crash extends Error {}

/**
 * A database whose process ends at a chosen moment: before any statement, also within a transaction, or after a write
 * took effect and before it was acknowledged. After that every call fails, as if the process were gone.
 */
export class CrashingDatabase extends InterruptedDatabase {
  /** The number of moments left until it ends; undefined for never. */
  momentsLeft: number | undefined;
  isCrashed = false;
  /** Whether the write in progress took effect before the crash. */
  hasWritten = false;

  protected override countMoment(hasWritten: boolean): void {
    if (this.isCrashed) throw new Crash("The process is gone.");
    if (this.momentsLeft === undefined) return;
    this.momentsLeft -= 1;
    if (this.momentsLeft > 0) return;
    this.isCrashed = true;
    this.hasWritten = hasWritten;
    throw new Crash(hasWritten ? "It ended after the writing." : "It ended before it wrote.");
  }
}
