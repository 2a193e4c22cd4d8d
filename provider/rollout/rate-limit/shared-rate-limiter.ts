import { existsSync } from "node:fs";
import { UNLIMITED_REQUESTS } from "../../client/rate-limiter";
import { isPostgresUrl } from "../../model/postgres-url";
import { quote } from "../../model/text";
import type { Database } from "../database/database";
import { DEFAULT_JOURNAL, openJournalDatabase } from "../database/open-database";
import { openInMemory } from "../database/sqlite-database";
import { explainUnwritableFile } from "../model/system-errors";
import type { Target, Targets } from "../model/target";
import type { RequestContext } from "../probing/target-client";
import { type Grant, RateLimitBroker } from "./rate-limit-broker";

export interface SharedRateLimiter {
  readonly getTokens: RequestContext["getTokens"];
  /** Lets a child process use it too. Undefined if there are no limits. */
  readonly grant: (target: Target) => Promise<Grant | undefined>;
  readonly close: () => Promise<void>;
}

/**
 * Opens the rate limiter that rollouts share, if there is a limit or a journal. Otherwise there are no limits.
 *
 * @throws {JournalError} if it can't be opened.
 */
export async function openSharedRateLimiter(
  journalUrl: string | undefined,
  services: Targets["services"],
  log: (line: string) => void,
): Promise<SharedRateLimiter> {
  if (journalUrl === undefined && services.size === 0 && !existsSync(DEFAULT_JOURNAL)) {
    return { getTokens: () => UNLIMITED_REQUESTS, grant: async () => undefined, close: async () => {} };
  }
  const database = await openLimitDatabase(journalUrl, log);
  const broker = new RateLimitBroker(database);
  return {
    getTokens: ({ baseUrl }, isAllowed) => broker.getTokens(baseUrl, services.get(baseUrl), isAllowed),
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
  const reason = isPostgresUrl(url) || existsSync(url) ? undefined : explainUnwritableFile(url);
  const database = reason === undefined ? await openJournalDatabase(url, { log }) : undefined;
  const unwritableReason = reason ?? database?.readOnlyReason;
  if (database !== undefined && unwritableReason === undefined) return database;
  await database?.close();
  log(
    `note: this command applies the rate limits of addresses on its own, without sharing them with rollouts. The journal ${quote(url, 500)} can't be written: ${unwritableReason}`,
  );
  return await openInMemory();
}
