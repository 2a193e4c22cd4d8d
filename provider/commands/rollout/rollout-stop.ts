import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode, wrapAction } from "../../cli/command-line";
import { addJournalOption, type JournalOptions } from "../../cli/journal-location";
import { DEFAULT_TARGETS_FILE } from "../../cli/tenant-options";
import { formatCount } from "../../render/safe-text";
import type { Rollouts } from "../../rollout/rollouts";
import { sanitizeMultiline } from "../../settings/text";
import { findRollout, JOURNAL_HELP, runWithRollouts } from "./open-rollouts";

/** `rollout stop`: keeps a running rollout from starting more tenants. */
export function createRolloutStopCommand(): Command {
  return addHelp(
    addJournalOption(new Command("stop"), JOURNAL_HELP)
      .description(
        "Stop a running rollout: finish the tenants under way and begin no more. `resume` continues it, `abandon` ends it for good",
      )
      .argument("[id]", "The rollout, or the beginning of its id (default: the newest that is running)")
      .action(wrapAction(runStopCommand)),
    {
      examples: [
        { does: "the newest that is under way", line: "rollout stop" },
        { does: "a certain one", line: "rollout stop 20261121-0800-7f3a91" },
      ],
      exits: { 0: "The rollout starts no more tenants", 1: "An error occurred" },
    },
  );
}

/** `rollout abandon`: ends an unfinished rollout for good. Changes no tenant. */
export function createRolloutAbandonCommand(): Command {
  return addHelp(
    addJournalOption(new Command("abandon"), JOURNAL_HELP)
      .description(
        "Abandon a rollout that waits, was stopped or was interrupted: it is never finished, and blocks no other rollout. Its changes stay",
      )
      .argument("[id]", "The rollout, or the beginning of its id (default: the newest that is not finished)")
      .action(wrapAction(runAbandonCommand)),
    {
      examples: [
        { does: "the newest that is not finished", line: "rollout abandon" },
        { does: "a certain one", line: "rollout abandon 20261121-0800-7f3a91" },
      ],
      exits: { 0: "The rollout is abandoned", 1: "An error occurred; nothing was changed" },
    },
  );
}

async function runStopCommand(id: string | undefined, options: JournalOptions): Promise<ExitCode> {
  return await runWithRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "stop");
    await rollouts.stop(record.id);
    console.error(
      `The rollout ${record.id} begins no more tenants; those that it began are finished. How far that is: \`${rollouts.commands.status(record.id)}\``,
    );
    return EXIT.clean;
  });
}

async function runAbandonCommand(id: string | undefined, options: JournalOptions): Promise<ExitCode> {
  return await runWithRollouts(options, async (rollouts) => {
    if (id !== undefined && (await abandonForeignRollout(rollouts, id))) return EXIT.clean;
    const record = await findRollout(rollouts, id, "abandon");
    await rollouts.abandon(record.id);
    const { advice, counts } = await rollouts.report(record.id);
    const adviceText = advice
      .map(({ why, command }) => ` ${why}${command === undefined ? "" : ` \`${command}\``}`)
      .join("");
    console.error(
      sanitizeMultiline(
        `The rollout ${record.id} is abandoned. Its completed changes stay: ${counts.done} changed, ${counts.failed} failed, ${counts.pending + counts.released + counts.running} not finished.${adviceText}`,
      ),
    );
    return EXIT.clean;
  });
}

/** Abandons a rollout that this journal lacks, if the full id is given. */
async function abandonForeignRollout(rollouts: Rollouts, id: string): Promise<boolean> {
  if ((await rollouts.journal.getLastEvent(id)) !== undefined) return false;
  const unknownStackCount = await rollouts.abandonForeign(id, DEFAULT_TARGETS_FILE);
  if (unknownStackCount === undefined) return false;
  const unknownText =
    unknownStackCount === 0
      ? ""
      : ` What it did to ${formatCount(unknownStackCount, "stack")} is not known here: the next rollout looks at their waves as if it had changed them.`;
  console.error(`The rollout ${id}, of another journal, is abandoned.${unknownText} Its completed changes stay.`);
  return true;
}
