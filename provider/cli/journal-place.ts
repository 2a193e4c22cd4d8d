import { existsSync, lstatSync } from "node:fs";
import type { Command } from "commander";
import type { Database } from "../rollout/database/database";
import { isPostgres } from "../settings/postgres-address";
import { hasPassword } from "../settings/secrets";
import { harmless, quote } from "../settings/text";

/** The end of the help text for `--database`. */
export const DATABASE_DEFAULT =
  "default: EMAIL_SECURITY_DATABASE, which no list of processes shows; the password may be in PGPASSWORD or ~/.pgpass too";

/** The location of the journal. */
export interface JournalOptions {
  readonly database?: string;
}

/**
 * Adds the option for the journal's location.
 *
 * @param what the purpose of the journal in the command.
 */
export function withJournal(command: Command, what: string): Command {
  return command.option(
    "--database <place>",
    `${what} (${DATABASE_DEFAULT}; else .email-security/rollouts.db)`,
  );
}

/**
 * Returns the journal's location: from `--database`, else from the environment.
 *
 * @returns undefined if neither is set.
 */
export function journalPlace(named: string | undefined): string | undefined {
  if (named !== undefined && named !== warnedOf && hasPassword(named)) {
    warnedOf = named;
    console.error(
      "warning: whoever may list the processes of this machine can read the password in --database. Give the address by EMAIL_SECURITY_DATABASE instead; or leave its password out, and give it by PGPASSWORD or a line in ~/.pgpass.",
    );
  }
  return named ?? (process.env["EMAIL_SECURITY_DATABASE"] || undefined);
}

/** The location whose password has already caused a warning. */
let warnedOf: string | undefined;

/**
 * Returns the location of a journal to read. Opening a missing journal would create an empty one, which suggests that no rollout ever ran.
 *
 * @returns undefined if no location is set.
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) if the given file doesn't exist.
 */
export async function journalToRead(named: string | undefined): Promise<string | undefined> {
  const place = journalPlace(named);
  if (place !== undefined) {
    const by = named === undefined ? "EMAIL_SECURITY_DATABASE" : "--database";
    await refuseMissing(place, `Mend ${by}, or leave it out for the journal of this folder`);
  }
  return place;
}

/**
 * Runs a task with the existing journal, if any; opening a missing one would create it.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) if the given file doesn't exist.
 */
export async function withExistingJournal<T>(
  named: string | undefined,
  work: (database: Database | undefined) => Promise<T>,
): Promise<T> {
  const { DEFAULT_JOURNAL, openDatabase } = await import("../rollout/database/open-database.js");
  const place = await journalToRead(named);
  if (place === undefined && !existsSync(DEFAULT_JOURNAL)) return await work(undefined);
  const log = (line: string): void => console.error(harmless(line));
  const database = await openDatabase(place ?? DEFAULT_JOURNAL, { log });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/**
 * @param otherwise the advice in the message.
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) if the file doesn't exist.
 */
export async function refuseMissing(place: string, otherwise: string): Promise<void> {
  // Opening a broken link reports it more precisely.
  if (isPostgres(place) || lstatSync(place, { throwIfNoEntry: false }) !== undefined) return;
  const { JournalError } = await import("../rollout/database/journal-error.js");
  throw new JournalError(
    `There is no rollouts' journal at ${quote(place, 300)}, and none was made: only \`email-security rollout\` makes one. ${otherwise}.`,
  );
}
