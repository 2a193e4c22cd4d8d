import type { Database } from "./database";
import { openSqlite, type SqliteOptions } from "./sqlite-database";

/** Where the journal is kept when nothing else is said: beside the targets file's working folder. */
export const DEFAULT_JOURNAL = ".email-security/rollouts.db";

/** Whether a place is a PostgreSQL database; else it is a file. */
export function isPostgres(place: string): boolean {
  return /^postgres(ql)?:\/\//.test(place);
}

/** Opens the journal's database: PostgreSQL by its address, or a SQLite file. */
export async function openDatabase(place: string, options: SqliteOptions = {}): Promise<Database> {
  if (!isPostgres(place)) return await openSqlite(place, options);
  const { openPostgres } = await import("./postgres-database.js");
  return await openPostgres(place);
}
