import { existsSync } from "node:fs";
import { FREE_PERMITS } from "../../client/permits";
import type { Reach } from "../asking/target-client";
import { DEFAULT_JOURNAL, openDatabase } from "../journal/open-database";
import type { Target, Targets } from "../targets/target";
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
  const opened = await openDatabase(place ?? DEFAULT_JOURNAL, { log });
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
