import { requirePart } from "../../settings/optional-parts";
import { isPostgres } from "../../settings/postgres-address";
import type { Database } from "./database";
import { openSqlite, type SqliteOptions } from "./sqlite-database";

/** Where the journal is kept when nothing else is said: beside the targets file's working folder. */
export const DEFAULT_JOURNAL = ".email-security/rollouts.db";

/**
 * Opens the journal's database: PostgreSQL by its address, or a SQLite file.
 *
 * @throws {MissingPackageError} where PostgreSQL's packages are not installed: those of the queue too, which no run does without.
 */
export async function openDatabase(place: string, options: SqliteOptions = {}): Promise<Database> {
  if (!isPostgres(place)) return await openSqlite(place, options);
  requirePart("postgres");
  const { openPostgres } = await import("./postgres-database.js");
  return await openPostgres(place);
}
