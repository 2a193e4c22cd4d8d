/** What is stored in a column. */
export type SqlValue = string | number | null | Uint8Array;

/** One row, by the names of its columns. */
export type Row = Readonly<Record<string, SqlValue>>;

/**
 * A database with the few statements that the journal needs, written so that SQLite and PostgreSQL take them alike:
 * parameters are `$1`, `$2`, …; times are integers of milliseconds; JSON is text.
 */
export interface Database {
  /** Which of the two it is. */
  readonly dialect: "sqlite" | "postgres";
  /** Why nothing can be written, and what to do: a clause that ends a sentence. Reads work all the same. */
  readonly unwritable?: string | undefined;
  /** Runs a statement and answers its rows; those of `RETURNING`, where it writes. */
  query(sql: string, parameters?: readonly SqlValue[]): Promise<readonly Row[]>;
  /**
   * Runs statements that take effect together or not at all, one after the other with nobody else's writes between. The
   * work may be called again when it lost a race, so it does nothing but statements.
   */
  transaction<T>(work: (database: Queryable) => Promise<T>): Promise<T>;
  /**
   * Holds a name until it is let go of, or this process dies. Undefined when somebody else holds it.
   *
   * @param lost told when it was lost, as with the connection: then whoever held it must stop at once.
   */
  hold(name: string, lost: (why: string) => void): Promise<Hold | undefined>;
  /** Whether somebody holds a name now. Only reads. */
  isHeld(name: string): Promise<boolean>;
  /** From so many milliseconds on, waits for nothing any more: what can't be done then fails. */
  hurry(ms: number): void;
  close(): Promise<void>;
}

/** What takes statements: a database, or a transaction of it. */
export type Queryable = Pick<Database, "query" | "dialect">;

/** A name that is held. */
export interface Hold {
  release(): Promise<void>;
}
