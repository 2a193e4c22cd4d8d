import { type ExitCode, isColoured, programName } from "../../cli/command-line";
import { type JournalOptions, journalPlace, journalToRead, refuseMissing } from "../../cli/journal-place";
import { TARGETS_FILE } from "../../cli/tenant-options";
import { collectSoon } from "../../machine/collected-soon";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import type { Purpose } from "../../rollout/journal/which-rollout";
import type { Rollouts } from "../../rollout/rollouts";
import { harmless } from "../../settings/text";

/** Help text of the journal option for all rollout commands. */
export const JOURNAL = "Use this rollout journal: a SQLite file, or postgres://… for many machines";

/** Formats of a rollout's plan and report. */
export const ROLLOUT_FORMATS = ["text", "markdown", "html", "json"] as const;

export type RolloutFormat = (typeof ROLLOUT_FORMATS)[number];

/** Opens the journal that the options name and runs a callback with its rollouts. */
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
 * Does the same as {@link withRollouts} for past rollouts: never creates a missing journal.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) when the journal does not exist.
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
 * Does the same as {@link withRollouts} to resume or show an existing rollout. Without a named journal, none needs to exist: locks of other
 * runs beside the stacks are reported all the same.
 *
 * @throws {JournalError} (`ERR_ROLLOUT_JOURNAL`) when the named journal does not exist.
 */
export async function withKnownRollouts(
  options: JournalOptions,
  callback: (rollouts: Rollouts) => Promise<ExitCode>,
): Promise<ExitCode> {
  await journalToRead(options.database);
  return await withRollouts(options, callback);
}

/** Finds the requested rollout. If the journal lacks it, the error also reports the locks of other runs beside the stacks. */
export async function findRollout(rollouts: Rollouts, id: string | undefined, action: Purpose): Promise<RolloutRecord> {
  try {
    return await rollouts.find(id, action);
  } catch (error) {
    const foreignLocks = await rollouts.elsewhere(TARGETS_FILE).catch(() => []);
    const { markText } = await import("../../rollout/locks/mark-text.js");
    for (const lock of foreignLocks) {
      if (id === undefined || lock.rollout.startsWith(id)) console.error(harmless(markText(lock, rollouts.commands)));
    }
    throw error;
  }
}

/** Returns the terminal's width and whether it supports colours. */
export function lookOfTerminal(): { readonly color: boolean; readonly width?: number } {
  const { columns } = process.stdout;
  return { color: isColoured(process.stdout), ...(columns === undefined ? {} : { width: columns }) };
}
