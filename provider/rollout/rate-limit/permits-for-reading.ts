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

/** The permits of whoever is no rollout, until they are closed. */
export interface PermitsForReading {
  readonly of: Reach["permits"];
  /** Lets a process that is started ask for them too; undefined where there is nothing to keep to. */
  readonly grant: (target: Target) => Promise<Grant | undefined>;
  readonly close: () => Promise<void>;
}

/**
 * The permits of service addresses: those that rollouts share, where there is a limit or a journal; else there is nothing to keep to.
 *
 * @param place the journal, where somebody names it.
 * @throws {JournalError} when it can't be opened.
 */
export async function permitsForReading(
  place: string | undefined,
  services: Targets["services"],
  log: (line: string) => void,
): Promise<PermitsForReading> {
  if (place === undefined && services.size === 0 && !existsSync(DEFAULT_JOURNAL)) {
    return { of: () => FREE_PERMITS, grant: async () => undefined, close: async () => {} };
  }
  const opened = await sharedOrOwn(place, log);
  const office = new PermitOffice(opened);
  return {
    of: ({ baseUrl }, isAllowed) => office.permits(baseUrl, services.get(baseUrl), isAllowed),
    grant: async ({ baseUrl }) => await office.grant(baseUrl, services.get(baseUrl), () => true),
    close: async () => {
      await office.close();
      await opened.close();
    },
  };
}

/** The journal's database, where limits are shared; one in memory where that can't be written, as on a full disk. */
async function sharedOrOwn(place: string | undefined, log: (line: string) => void): Promise<Database> {
  const named = place ?? DEFAULT_JOURNAL;
  const reason = isPostgres(named) || existsSync(named) ? undefined : unwritableReason(named);
  const opened = reason === undefined ? await openDatabase(named, { log }) : undefined;
  const why = reason ?? opened?.unwritable;
  if (opened !== undefined && why === undefined) return opened;
  await opened?.close();
  log(
    `note: this command keeps the limits of addresses by itself and shares them with no rollout. The journal ${quote(named, 500)} can't be written: ${why}`,
  );
  return await openInMemory();
}
