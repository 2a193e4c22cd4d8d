import { getCommandName } from "../../cli/command-name";
import type { ExitCode } from "../../cli/exit-codes";
import {
  assertJournalExists,
  getExistingJournalLocation,
  getJournalLocation,
  type JournalOptions,
} from "../../cli/journal-location";
import { DEFAULT_TARGETS_FILE } from "../../cli/tenant-options";
import { shouldUseColor } from "../../cli/terminal-color";
import { sanitizeMultiline } from "../../model/text";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import type { RolloutAction } from "../../rollout/journal/select-rollout";
import type { Rollouts } from "../../rollout/rollouts";
import { limitHeapGrowth } from "../../system/gc-tuning";

export const JOURNAL_HELP = "Use this rollout journal: a SQLite file, or postgres://… for several machines";

export const ROLLOUT_FORMATS = ["text", "markdown", "html", "json"] as const;

export type RolloutFormat = (typeof ROLLOUT_FORMATS)[number];

export async function runWithRollouts(
  { database }: JournalOptions,
  callback: (rollouts: Rollouts) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { Rollouts: RolloutsClass } = await import("../../rollout/rollouts.js");
  const { RolloutCommands } = await import("../../rollout/model/rollout-commands.js");
  const { DEFAULT_JOURNAL } = await import("../../rollout/database/open-database.js");
  const journalUrl = getJournalLocation(database) ?? DEFAULT_JOURNAL;
  limitHeapGrowth();
  const rollouts = await RolloutsClass.open({
    database: journalUrl,
    commands: new RolloutCommands(database, getCommandName()),
    log: (line) => console.error(sanitizeMultiline(line)),
  });
  try {
    return await callback(rollouts);
  } finally {
    await rollouts.close();
  }
}

/**
 * Does the same as {@link runWithRollouts} for past rollouts: never creates a missing journal.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) when the journal does not exist.
 */
export async function runWithPastRollouts(
  options: JournalOptions,
  callback: (rollouts: Rollouts) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { DEFAULT_JOURNAL } = await import("../../rollout/database/open-database.js");
  if ((await getExistingJournalLocation(options.database)) === undefined)
    await assertJournalExists(DEFAULT_JOURNAL, "Go to the directory of the journal, or set --database");
  return await runWithRollouts(options, callback);
}

/**
 * Does the same as {@link runWithRollouts} to resume or show an existing rollout. Without a named journal, none needs
 * to exist: locks of other runs next to the stacks are reported all the same.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) when the named journal does not exist.
 */
export async function runWithKnownRollouts(
  options: JournalOptions,
  callback: (rollouts: Rollouts) => Promise<ExitCode>,
): Promise<ExitCode> {
  await getExistingJournalLocation(options.database);
  return await runWithRollouts(options, callback);
}

/**
 * Finds the requested rollout. If the journal lacks it, the error also reports the locks of other runs next to the
 * stacks.
 */
export async function findRollout(
  rollouts: Rollouts,
  id: string | undefined,
  action: RolloutAction,
): Promise<RolloutRecord> {
  try {
    return await rollouts.find(id, action);
  } catch (error) {
    const foreignLocks = await rollouts.listForeignLocks(DEFAULT_TARGETS_FILE).catch(() => []);
    const { describeLock } = await import("../../rollout/locks/describe-lock.js");
    for (const lock of foreignLocks) {
      if (id === undefined || lock.rollout.startsWith(id))
        console.error(sanitizeMultiline(describeLock(lock, rollouts.commands)));
    }
    throw error;
  }
}

export function getTerminalOptions(): { readonly color: boolean; readonly width?: number } {
  const { columns } = process.stdout;
  return { color: shouldUseColor(process.stdout), ...(columns === undefined ? {} : { width: columns }) };
}
