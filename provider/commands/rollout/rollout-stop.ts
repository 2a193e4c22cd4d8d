import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addJournalOption, type JournalOptions } from "../../cli/journal-location";
import { DEFAULT_TARGETS_FILE } from "../../cli/tenant-options";
import { wrapAction } from "../../cli/wrap-action";
import { sanitizeMultiline } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { Rollouts } from "../../rollout/rollouts";
import { findRollout, JOURNAL_HELP, runWithRollouts } from "./run-with-rollouts";

export function createRolloutStopCommand(): Command {
  return addHelp(
    addJournalOption(new Command("stop"), JOURNAL_HELP)
      .description(
        "Stop a running rollout: finish the tenants in progress and start no more. `resume` continues it, `abandon` ends it permanently",
      )
      .argument("[id]", "The rollout's id, or the beginning of it (default: the newest that is running)")
      .action(wrapAction(runStopCommand)),
    {
      examples: [
        { purpose: "Stop the newest running rollout", line: "rollout stop" },
        { purpose: "Stop a specific rollout", line: "rollout stop 20261121-0800-7f3a91" },
      ],
      exits: { 0: "The rollout starts no more tenants", 1: "An error occurred" },
    },
  );
}

export function createRolloutAbandonCommand(): Command {
  return addHelp(
    addJournalOption(new Command("abandon"), JOURNAL_HELP)
      .description(
        "Abandon a rollout that waits, was stopped or was interrupted: it can't be resumed, and no longer blocks other rollouts. Its changes stay",
      )
      .argument("[id]", "The rollout's id, or the beginning of it (default: the newest that is not finished)")
      .action(wrapAction(runAbandonCommand)),
    {
      examples: [
        { purpose: "Abandon the newest unfinished rollout", line: "rollout abandon" },
        { purpose: "Abandon a specific rollout", line: "rollout abandon 20261121-0800-7f3a91" },
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
      `The rollout ${record.id} starts no more tenants, and finishes those in progress. To see its progress: \`${rollouts.commands.status(record.id)}\``,
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
      .map(({ reason, command }) => ` ${reason}${command === undefined ? "" : ` \`${command}\``}`)
      .join("");
    console.error(
      sanitizeMultiline(
        `The rollout ${record.id} is abandoned. Its completed changes stay: ${counts.done} changed, ${counts.failed} failed, ${counts.pending + counts.queued + counts.running} not finished.${adviceText}`,
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
      : ` Its changes to ${formatCount(unknownStackCount, "stack")} are unknown here: the next rollout checks their waves as if it had changed them.`;
  console.error(`The rollout ${id} of another journal is abandoned.${unknownText} Its completed changes stay.`);
  return true;
}
