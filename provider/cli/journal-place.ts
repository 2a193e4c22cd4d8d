import type { Command } from "commander";
import { hasPassword } from "../settings/secrets";

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
  if (named !== undefined && hasPassword(named)) {
    console.error(
      "warning: whoever may list the processes of this machine can read the password in --database. Give the address by EMAIL_SECURITY_DATABASE instead; or leave its password out, and give it by PGPASSWORD or a line in ~/.pgpass.",
    );
  }
  return named ?? (process.env["EMAIL_SECURITY_DATABASE"] || undefined);
}
