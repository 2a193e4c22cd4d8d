import { type ExitCode, isColoured, programName } from "../../cli/command-line";
import { type JournalOptions, journalPlace, journalToRead, refuseMissing } from "../../cli/journal-place";
import { TARGETS_FILE } from "../../cli/tenant-options";
import { collectSoon } from "../../machine/collected-soon";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import type { Purpose } from "../../rollout/journal/which-rollout";
import type { Rollouts } from "../../rollout/rollouts";
import { harmless } from "../../settings/text";

/** What the journal is to all verbs of rollouts. */
export const JOURNAL = "Use this rollout journal: a SQLite file, or postgres://… for many machines";

/** The formats of a rollout's plan and report. */
export const ROLLOUT_FORMATS = ["text", "markdown", "html", "json"] as const;

export type RolloutFormat = (typeof ROLLOUT_FORMATS)[number];

/** Works with the rollouts of the journal that the options name. */
export async function withRollouts(
  { database }: JournalOptions,
  callback: (rollouts: Rollouts) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { Rollouts: RolloutsClass } = await import("../../rollout/rollouts.js");
  const { RolloutCommands } = await import("../../rollout/model/commands.js");
  const { DEFAULT_JOURNAL } = await import("../../rollout/database/open-database.js");
  const journalUrl = journalPlace(database) ?? DEFAULT_JOURNAL;
  collectSoon();
  const rollouts = await RolloutsClass.open({
    database: journalUrl,
    commands: new RolloutCommands(database, programName()),
    log: (line) => console.error(harmless(line)),
  });
  try {
    return await callback(rollouts);
  } finally {
    await rollouts.close();
  }
}

/**
 * The same, of those that were: a journal that is not there is not made.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) where there is none.
 */
export async function withPastRollouts(
  options: JournalOptions,
  callback: (rollouts: Rollouts) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { DEFAULT_JOURNAL } = await import("../../rollout/database/open-database.js");
  if ((await journalToRead(options.database)) === undefined)
    await refuseMissing(DEFAULT_JOURNAL, "Go to the folder that has it, or name it by --database");
  return await withRollouts(options, callback);
}

/**
 * The same, of one that is there to be gone on with or told of. Where no journal is named there may be none: what others have left beside
 * the stacks is told all the same.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) where the one that is named is not there.
 */
export async function withKnownRollouts(
  options: JournalOptions,
  callback: (rollouts: Rollouts) => Promise<ExitCode>,
): Promise<ExitCode> {
  await journalToRead(options.database);
  return await withRollouts(options, callback);
}

/** The rollout that is meant; where this journal has none such, what others have left beside the stacks is told too. */
export async function findRollout(
  rollouts: Rollouts,
  id: string | undefined,
  action: Purpose,
): Promise<RolloutRecord> {
  try {
    return await rollouts.find(id, action);
  } catch (error) {
    const foreignLocks = await rollouts.elsewhere(TARGETS_FILE).catch(() => []);
    const { markText } = await import("../../rollout/locks/mark-text.js");
    for (const lock of foreignLocks) {
      if (id === undefined || lock.rollout.startsWith(id))
        console.error(harmless(markText(lock, rollouts.commands)));
    }
    throw error;
  }
}

/** How wide the terminal is, and whether it shows colours. */
export function lookOfTerminal(): { readonly color: boolean; readonly width?: number } {
  const { columns } = process.stdout;
  return { color: isColoured(process.stdout), ...(columns === undefined ? {} : { width: columns }) };
}
