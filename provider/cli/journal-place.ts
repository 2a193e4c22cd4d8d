import { existsSync, lstatSync } from "node:fs";
import type { Command } from "commander";
import type { Database } from "../rollout/database/database";
import { isPostgres } from "../settings/postgres-address";
import { hasPassword } from "../settings/secrets";
import { harmless, quote } from "../settings/text";

/** Of the option `--database`, what its help ends with. */
export const DATABASE_DEFAULT =
  "default: EMAIL_SECURITY_DATABASE, which no list of processes shows; the password may be in PGPASSWORD or ~/.pgpass too";

/** Where the journal is. */
export interface JournalOptions {
  readonly database?: string;
}

/**
 * Adds the option by which the journal is found.
 *
 * @param what the journal is to the verb.
 */
export function withJournal(command: Command, what: string): Command {
  return command.option(
    "--database <place>",
    `${what} (${DATABASE_DEFAULT}; else .email-security/rollouts.db)`,
  );
}

/**
 * Where the journal is: as `--database` names it, else as the environment does.
 *
 * @returns undefined where nobody says so.
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

/** The place whose password was told of: once is enough. */
let warnedOf: string | undefined;

/**
 * The same for who only reads: to open a journal that is not there would make one, and an empty one tells that nothing ever was.
 *
 * @returns undefined where nobody says where it is.
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) where the file that is named is not there.
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
 * Works with the journal, where there is one: to open one that isn't there would make it.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) where the file that is named is not there.
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
 * @param otherwise what to do, beside to make one.
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) where there is no such file.
 */
export async function refuseMissing(place: string, otherwise: string): Promise<void> {
  // A link that leads nowhere is told as that by whoever opens it.
  if (isPostgres(place) || lstatSync(place, { throwIfNoEntry: false }) !== undefined) return;
  const { JournalError } = await import("../rollout/database/journal-error.js");
  throw new JournalError(
    `There is no rollouts' journal at ${quote(place, 300)}, and none was made: only \`email-security rollout\` makes one. ${otherwise}.`,
  );
}
