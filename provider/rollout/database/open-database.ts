import { requirePart } from "../../settings/optional-parts";
import { isPostgres } from "../../settings/postgres-address";
import type { Database } from "./database";
import { openSqlite, type SqliteOptions } from "./sqlite-database";

/** The default location of the journal, relative to the working directory of the targets file. */
export const DEFAULT_JOURNAL = ".email-security/rollouts.db";

/**
 * Opens the journal's database: PostgreSQL for a URL, otherwise a SQLite file.
 *
 * @throws {MissingPackageError} if the packages for PostgreSQL are not installed. These include the queue's, which every run needs.
 */
export async function openDatabase(journalUrl: string, options: SqliteOptions = {}): Promise<Database> {
  if (!isPostgres(journalUrl)) return await openSqlite(journalUrl, options);
  requirePart("postgres");
  const { openPostgres } = await import("./postgres-database.js");
  return await openPostgres(journalUrl);
}
