import { Command } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { type JournalOptions, withJournal } from "../../cli/journal-place";
import { TARGETS_FILE } from "../../cli/tenant-options";
import { withHelp } from "../../cli/verb-help";
import { counted } from "../../render/words";
import type { Rollouts } from "../../rollout/rollouts";
import { harmless } from "../../settings/text";
import { findRollout, JOURNAL, withRollouts } from "./open-rollouts";

/** `rollout stop`: keeps a running rollout from starting more tenants. */
export function stopCommand(): Command {
  return withHelp(
    withJournal(new Command("stop"), JOURNAL)
      .description(
        "Stop a running rollout: finish the tenants under way and begin no more. `resume` continues it, `abandon` ends it for good",
      )
      .argument("[id]", "The rollout, or the beginning of its id (default: the newest that is running)")
      .action(verb(runStopCommand)),
    {
      examples: [
        { does: "the newest that is under way", line: "rollout stop" },
        { does: "a certain one", line: "rollout stop 20261121-0800-7f3a91" },
      ],
      exits: { 0: "it begins no more tenants", 1: "an error" },
    },
  );
}

/** `rollout abandon`: ends an unfinished rollout for good. Changes no tenant. */
export function abandonCommand(): Command {
  return withHelp(
    withJournal(new Command("abandon"), JOURNAL)
      .description(
        "Abandon a rollout that waits, was stopped or was interrupted: it is never finished, and blocks no other rollout. Its changes stay",
      )
      .argument("[id]", "The rollout, or the beginning of its id (default: the newest that is not finished)")
      .action(verb(runAbandonCommand)),
    {
      examples: [
        { does: "the newest that is not finished", line: "rollout abandon" },
        { does: "a certain one", line: "rollout abandon 20261121-0800-7f3a91" },
      ],
      exits: { 0: "it is abandoned", 1: "an error; nothing was changed" },
    },
  );
}

async function runStopCommand(id: string | undefined, options: JournalOptions): Promise<ExitCode> {
  return await withRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "stop");
    await rollouts.stop(record.id);
    console.error(
      `The rollout ${record.id} begins no more tenants; those that it began are finished. How far that is: \`${rollouts.commands.status(record.id)}\``,
    );
    return EXIT.clean;
  });
}

async function runAbandonCommand(id: string | undefined, options: JournalOptions): Promise<ExitCode> {
  return await withRollouts(options, async (rollouts) => {
    if (id !== undefined && (await abandonForeignRollout(rollouts, id))) return EXIT.clean;
    const record = await findRollout(rollouts, id, "abandon");
    await rollouts.abandon(record.id);
    const { advice, counts } = await rollouts.report(record.id);
    const adviceText = advice
      .map(({ why, command }) => ` ${why}${command === undefined ? "" : ` \`${command}\``}`)
      .join("");
    console.error(
      harmless(
        `The rollout ${record.id} is abandoned. What it did stays: ${counts.done} changed, ${counts.failed} failed, ${counts.pending + counts.released + counts.running} not finished.${adviceText}`,
      ),
    );
    return EXIT.clean;
  });
}

/** Abandons a rollout that this journal lacks, if the full id is given. */
async function abandonForeignRollout(rollouts: Rollouts, id: string): Promise<boolean> {
  if ((await rollouts.journal.lastEvent(id)) !== undefined) return false;
  const unknownStackCount = await rollouts.abandonElsewhere(id, TARGETS_FILE);
  if (unknownStackCount === undefined) return false;
  const unknownText =
    unknownStackCount === 0
      ? ""
      : ` What it did to ${counted(unknownStackCount, "stack")} is not known here: the next rollout looks at their waves as if it had changed them.`;
  console.error(`The rollout ${id}, of another journal, is abandoned.${unknownText} What it did stays.`);
  return true;
}
