import { existsSync, lstatSync } from "node:fs";
import type { Command } from "commander";
import { isPostgresUrl } from "../model/postgres-url";
import { hasPassword } from "../model/secrets";
import { quote, sanitizeMultiline } from "../model/text";
import type { Database } from "../rollout/database/database";

/** The end of the help text for `--database`. */
export const DATABASE_DEFAULT_HELP =
  "default: EMAIL_SECURITY_DATABASE, which keeps a password out of process lists, as do PGPASSWORD and ~/.pgpass";

export interface JournalOptions {
  readonly database?: string;
}

export function addJournalOption(command: Command, description: string): Command {
  return command.option(
    "--database <place>",
    `${description} (${DATABASE_DEFAULT_HELP}; otherwise .email-security/rollouts.db)`,
  );
}

/**
 * Returns the journal's location: from `--database`, else from the environment.
 *
 * @returns undefined if neither is set.
 */
export function getJournalLocation(databaseOption: string | undefined): string | undefined {
  if (databaseOption !== undefined && databaseOption !== lastWarnedUrl && hasPassword(databaseOption)) {
    lastWarnedUrl = databaseOption;
    console.error(
      "warning: anyone who can list this machine's processes can read the password in --database. Set the address in EMAIL_SECURITY_DATABASE instead, or set only the password in PGPASSWORD or ~/.pgpass.",
    );
  }
  return databaseOption ?? (process.env["EMAIL_SECURITY_DATABASE"] || undefined);
}

/** The location whose password has already caused a warning. */
let lastWarnedUrl: string | undefined;

/**
 * Returns the location of a journal to read. Opening a missing journal would create an empty one, which suggests that no rollout ever ran.
 *
 * @returns undefined if no location is set.
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) if the given file doesn't exist.
 */
export async function getExistingJournalLocation(databaseOption: string | undefined): Promise<string | undefined> {
  const journalUrl = getJournalLocation(databaseOption);
  if (journalUrl !== undefined) {
    const source = databaseOption === undefined ? "EMAIL_SECURITY_DATABASE" : "--database";
    await assertJournalExists(journalUrl, `Fix ${source}, or omit it to use the journal of this directory`);
  }
  return journalUrl;
}

/**
 * Runs a task with the existing journal, if any; opening a missing one would create it.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) if the given file doesn't exist.
 */
export async function runWithJournalIfExists<T>(
  databaseOption: string | undefined,
  callback: (database: Database | undefined) => Promise<T>,
): Promise<T> {
  const { DEFAULT_JOURNAL, openJournalDatabase } = await import("../rollout/database/open-database.js");
  const journalUrl = await getExistingJournalLocation(databaseOption);
  if (journalUrl === undefined && !existsSync(DEFAULT_JOURNAL)) return await callback(undefined);
  const log = (line: string): void => console.error(sanitizeMultiline(line));
  const database = await openJournalDatabase(journalUrl ?? DEFAULT_JOURNAL, { log });
  try {
    return await callback(database);
  } finally {
    await database.close();
  }
}

/** @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) if the file doesn't exist. */
export async function assertJournalExists(journalUrl: string, advice: string): Promise<void> {
  // Opening a broken link reports it more precisely.
  if (isPostgresUrl(journalUrl) || lstatSync(journalUrl, { throwIfNoEntry: false }) !== undefined) return;
  const { JournalError } = await import("../rollout/database/journal-error.js");
  throw new JournalError(
    `There is no rollout journal at ${quote(journalUrl, 300)}, and none was created: only \`email-security rollout\` creates one. ${advice}.`,
  );
}
