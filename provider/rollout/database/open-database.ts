import { assertFeatureInstalled } from "../../model/optional-features";
import { isPostgresUrl } from "../../model/postgres-url";
import type { Database } from "./database";
import { openSqlite, type SqliteOptions } from "./sqlite-database";

/** The default location of the journal, relative to the working directory of the targets file. */
export const DEFAULT_JOURNAL = ".email-security/rollouts.db";

/**
 * Opens the journal's database: PostgreSQL for a URL, otherwise a SQLite file.
 *
 * @throws {MissingPackageError} if the packages for PostgreSQL are not installed. These include the queue's, which every run needs.
 */
export async function openJournalDatabase(journalUrl: string, options: SqliteOptions = {}): Promise<Database> {
  if (!isPostgresUrl(journalUrl)) return await openSqlite(journalUrl, options);
  assertFeatureInstalled("postgres");
  const { openPostgres } = await import("./postgres-database.js");
  return await openPostgres(journalUrl);
}
