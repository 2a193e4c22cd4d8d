export type SqlValue = string | number | null | Uint8Array;

export type Row = Readonly<Record<string, SqlValue>>;

/**
 * A database with the few statements that the journal needs. SQLite and PostgreSQL both accept them:
 * parameters are `$1`, `$2`, …; times are integers in milliseconds; JSON is text.
 */
export interface Database {
  readonly dialect: "sqlite" | "postgres";
  /** Why the database is read-only, and what to do: a clause that ends a sentence. Reads still work. */
  readonly readOnlyReason?: string | undefined;
  /** Runs a statement and returns its rows. A write returns the rows of its `RETURNING` clause. */
  query(sql: string, parameters?: readonly SqlValue[]): Promise<readonly Row[]>;
  /**
   * Runs statements atomically, with no concurrent writes between them. May call `work` again after a lost race, so `work` must only run
   * statements.
   */
  transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T>;
  /**
   * Locks a name until the lock is released or this process dies. Returns undefined if another holder has it.
   *
   * @param onLost called when the lock is lost, for example with the connection. The holder must then stop at once.
   */
  lock(name: string, onLost: (reason: string) => void): Promise<DatabaseLock | undefined>;
  isLocked(name: string): Promise<boolean>;
  /** Stops waiting after `delayMs` milliseconds. An operation that can't complete then fails. */
  shortenBusyTimeout(delayMs: number): void;
  close(): Promise<void>;
}

export type Queryable = Pick<Database, "query" | "dialect">;

export interface DatabaseLock {
  release(): Promise<void>;
}
