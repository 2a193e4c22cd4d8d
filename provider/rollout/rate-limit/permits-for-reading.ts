import { existsSync } from "node:fs";
import { FREE_PERMITS } from "../../client/permits";
import { isPostgres } from "../../settings/postgres-address";
import { quote } from "../../settings/text";
import type { Database } from "../database/database";
import { DEFAULT_JOURNAL, openDatabase } from "../database/open-database";
import { openInMemory } from "../database/sqlite-database";
import { unwritableReason } from "../model/system-reasons";
import type { Target, Targets } from "../model/target";
import type { Reach } from "../probing/target-client";
import { type Grant, PermitOffice } from "./permit-office";

/** The rate limiter of commands other than rollouts, until it is closed. */
export interface PermitsForReading {
  readonly of: Reach["permits"];
  /** Lets a child process use it too. Undefined if there are no limits. */
  readonly grant: (target: Target) => Promise<Grant | undefined>;
  readonly close: () => Promise<void>;
}

/**
 * Opens the rate limiter that rollouts share, if there is a limit or a journal. Otherwise there are no limits.
 *
 * @param journalUrl the journal, if one is given.
 * @throws {JournalError} if it can't be opened.
 */
export async function permitsForReading(
  journalUrl: string | undefined,
  services: Targets["services"],
  log: (line: string) => void,
): Promise<PermitsForReading> {
  if (journalUrl === undefined && services.size === 0 && !existsSync(DEFAULT_JOURNAL)) {
    return { of: () => FREE_PERMITS, grant: async () => undefined, close: async () => {} };
  }
  const database = await openLimitDatabase(journalUrl, log);
  const broker = new PermitOffice(database);
  return {
    of: ({ baseUrl }, isAllowed) => broker.permits(baseUrl, services.get(baseUrl), isAllowed),
    grant: async ({ baseUrl }) => await broker.grant(baseUrl, services.get(baseUrl), () => true),
    close: async () => {
      await broker.close();
      await database.close();
    },
  };
}

/** Opens the journal's database, which shares the limits. If it can't be written, as on a full disk, opens one in memory. */
async function openLimitDatabase(journalUrl: string | undefined, log: (line: string) => void): Promise<Database> {
  const url = journalUrl ?? DEFAULT_JOURNAL;
  const reason = isPostgres(url) || existsSync(url) ? undefined : unwritableReason(url);
  const database = reason === undefined ? await openDatabase(url, { log }) : undefined;
  const why = reason ?? database?.unwritable;
  if (database !== undefined && why === undefined) return database;
  await database?.close();
  log(
    `note: this command keeps the limits of addresses by itself and shares them with no rollout. The journal ${quote(url, 500)} can't be written: ${why}`,
  );
  return await openInMemory();
}
