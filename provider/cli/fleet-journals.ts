import { existsSync } from "node:fs";
import type { StackStates } from "../fleet/status/stack-states";
import { EmailSecurityError, formatErrorWithCode } from "../model/email-security-error";
import { omitUndefined } from "../model/omit-undefined";
import { formatCount } from "../render/safe-text";
import type { Database } from "../rollout/database/database";
import type { LastAppliedRollouts } from "../rollout/journal/last-applied";
import type { RolloutScope } from "../rollout/journal/rollout-record";
import type { Target, Targets } from "../rollout/model/target";
import { addMarkerRecords, type ReadIdentityRecords } from "../rollout/targets/tenant-conflicts";

export interface OpenJournal {
  readonly lastApplied: LastAppliedRollouts;
  readonly database: Database;
  readonly scope: RolloutScope;
}

/** Opens existing journals and creates none. The caller must close them. */
export async function openJournals(
  journalUrls: readonly (string | undefined)[],
  { file, project, targets }: Pick<Targets, "file" | "project" | "targets">,
  log: (line: string) => void,
): Promise<readonly OpenJournal[]> {
  const { DEFAULT_JOURNAL } = await import("../rollout/database/open-database.js");
  const urls = [...new Set(journalUrls)].filter((url) => url !== undefined || existsSync(DEFAULT_JOURNAL));
  if (urls.length === 0) return [];
  const scope = omitUndefined({ project, backend: await readBackendFingerprint(file, log) });
  const stacks = targets.map(({ stack }) => stack);
  const journals: OpenJournal[] = [];
  try {
    for (const url of urls) journals.push(await openJournal(url ?? DEFAULT_JOURNAL, scope, stacks, log));
    return journals;
  } catch (error) {
    for (const { database } of journals) await database.close();
    throw error;
  }
}

async function openJournal(
  journalUrl: string,
  scope: RolloutScope,
  stacks: readonly string[],
  log: (line: string) => void,
): Promise<OpenJournal> {
  const { openJournalDatabase } = await import("../rollout/database/open-database.js");
  const { readLastApplied } = await import("../rollout/journal/last-applied.js");
  const database = await openJournalDatabase(journalUrl, { log });
  try {
    const lastApplied = await readLastApplied(database, { ...scope, stacks });
    if (lastApplied.otherBackendCount > 0) {
      log(
        `note: the journal has ${formatCount(lastApplied.otherBackendCount, "rollout")} of this project with another state backend, which don't apply to these stacks. To use them, set PULUMI_BACKEND_URL to their backend.`,
      );
    }
    return { lastApplied, database, scope };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Returns the fingerprint of the state backend; undefined if unknown, which must not prevent reading tenants. */
async function readBackendFingerprint(file: string, log: (line: string) => void): Promise<string | undefined> {
  const { getProjectDirectory, resolveStateBackend } = await import("../rollout/stack/state-backend.js");
  try {
    return resolveStateBackend(process.env, getProjectDirectory(file)).fingerprint;
  } catch (error) {
    log(
      `note: rollouts with any state backend are used, because this project's backend is unknown: ${formatErrorWithCode(error)}`,
    );
    return undefined;
  }
}

/**
 * Combines what rollouts in these journals read from tenants, and what rollouts in other journals left in stack states.
 */
export function createIdentityReader(
  journals: readonly OpenJournal[],
  targets: readonly Target[],
  states: StackStates | undefined,
): ReadIdentityRecords {
  const readRecords: ReadIdentityRecords = async (selection) => {
    const { mergeLastApplied } = await import("../rollout/journal/merge-last-applied.js");
    const { readLastApplied } = await import("../rollout/journal/last-applied.js");
    const { selectIdentityRecords } = await import("../rollout/journal/tenant-identity-records.js");
    const lastAppliedReads = journals.map(({ lastApplied, database, scope }) =>
      selection === "all" ? readLastApplied(database, scope) : lastApplied,
    );
    return selectIdentityRecords(mergeLastApplied(await Promise.all(lastAppliedReads)), targets, selection);
  };
  return addMarkerRecords(readRecords, targets, (target) => states?.read(target)?.marker);
}

/** Reads stack states from files, if the state backend has them. */
export async function openStackStates(file: string, project: string): Promise<StackStates | undefined> {
  const { getProjectDirectory, resolveStateBackend } = await import("../rollout/stack/state-backend.js");
  const { readStateFromFile, listStackNames } = await import("../rollout/stack/state-file.js");
  try {
    const backendProject = { backend: resolveStateBackend(process.env, getProjectDirectory(file)).url, project };
    return {
      read: (stack) => readStateFromFile(stack, backendProject),
      listStacks: () => listStackNames(backendProject),
    };
  } catch (error) {
    if (error instanceof EmailSecurityError) return undefined;
    throw error;
  }
}
