import { existsSync } from "node:fs";
import type { StackStates } from "../fleet/status/stack-states";
import { counted } from "../render/words";
import type { Database } from "../rollout/database/database";
import type { Reached } from "../rollout/journal/reached";
import type { WhoseRollouts } from "../rollout/journal/rollout-record";
import type { Target, Targets } from "../rollout/model/target";
import { type ReadMemory, withMarkers } from "../rollout/targets/same-tenant";
import { EmailSecurityError, withCode } from "../settings/email-security-error";
import { withoutUndefined } from "../settings/without-undefined";

/** A journal that is read for a fleet. */
export interface OpenJournal {
  /** The last applied state of the stacks in the targets file. */
  readonly reached: Reached;
  readonly database: Database;
  readonly whose: WhoseRollouts;
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
  const scope = withoutUndefined({ project, backend: await getBackendFingerprint(file, log) });
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

/** Reads the journal entries for the project's stacks. */
async function openJournal(
  journalUrl: string,
  scope: WhoseRollouts,
  stacks: readonly string[],
  log: (line: string) => void,
): Promise<OpenJournal> {
  const { openDatabase } = await import("../rollout/database/open-database.js");
  const { reachedIn } = await import("../rollout/journal/reached.js");
  const database = await openDatabase(journalUrl, { log });
  try {
    const lastApplied = await reachedIn(database, { ...scope, stacks });
    if (lastApplied.elsewhere > 0) {
      log(
        `note: the journal has ${counted(lastApplied.elsewhere, "rollout")} of this project with another state backend, which say nothing of these stacks. Where they are meant, set PULUMI_BACKEND_URL as they had it.`,
      );
    }
    return { reached: lastApplied, database, whose: scope };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Returns the fingerprint of the state backend; undefined if unknown, which must not prevent reading tenants. */
async function getBackendFingerprint(file: string, log: (line: string) => void): Promise<string | undefined> {
  const { projectFolder, stateBackend } = await import("../rollout/stack/state-backend.js");
  try {
    return stateBackend(process.env, projectFolder(file)).fingerprint;
  } catch (error) {
    log(`note: rollouts with any state backend are looked at: ${withCode(error)}`);
    return undefined;
  }
}

/**
 * Combines what rollouts in these journals read from tenants, and what rollouts in other journals left in stack states.
 *
 * @param targets all tenants of the targets file.
 */
export function memoryOf(
  journals: readonly OpenJournal[],
  targets: readonly Target[],
  states: StackStates | undefined,
): ReadMemory {
  const memory: ReadMemory = async (selection) => {
    const { mergeReached } = await import("../rollout/journal/merge-journals.js");
    const { reachedIn } = await import("../rollout/journal/reached.js");
    const { rememberedIn } = await import("../rollout/journal/remembered-identities.js");
    const lastAppliedReads = journals.map(({ reached, database, whose }) =>
      selection === "all" ? reachedIn(database, whose) : reached,
    );
    return rememberedIn(mergeReached(await Promise.all(lastAppliedReads)), targets, selection);
  };
  return withMarkers(memory, targets, (target) => states?.of(target)?.marker);
}

/** Reads stack states from files, if the state backend has them. */
export async function stackStates(file: string, project: string): Promise<StackStates | undefined> {
  const { projectFolder, stateBackend } = await import("../rollout/stack/state-backend.js");
  const { readStackState, stackNames } = await import("../rollout/stack/state-file.js");
  try {
    const place = { backend: stateBackend(process.env, projectFolder(file)).url, project };
    return { of: (stack) => readStackState(stack, place), names: () => stackNames(place) };
  } catch (error) {
    if (error instanceof EmailSecurityError) return undefined;
    throw error;
  }
}
