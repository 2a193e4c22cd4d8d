import { Command, InvalidArgumentError } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addJournalOption, type JournalOptions } from "../../cli/journal-location";
import { wrapAction } from "../../cli/wrap-action";
import { sanitizeLine, sanitizeMultiline } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { OldRollouts } from "../../rollout/history/old-rollouts";
import type { Rollouts } from "../../rollout/rollouts";
import { JOURNAL_HELP, runWithPastRollouts } from "./run-with-rollouts";

interface PruneOptions extends JournalOptions {
  readonly olderThan: number;
  readonly yes?: boolean;
}

export function createRolloutPruneCommand(): Command {
  return addHelp(
    addJournalOption(new Command("prune"), JOURNAL_HELP)
      .description(
        "Remove the settings files, full plans and step logs of old rollouts from the journal; keep the record of who changed what, when and why",
      )
      .requiredOption(
        "--older-than <term>",
        "Prune rollouts that ended at least this long ago: 180d",
        parseRetentionDays,
      )
      .option("--yes", "Apply it; without it, only list what would be removed")
      .action(wrapAction(runPruneCommand)),
    {
      examples: [
        { purpose: "List what would be removed", line: "rollout prune --older-than 180d" },
        { purpose: "Prune the old rollouts", line: "rollout prune --older-than 180d --yes" },
      ],
      exits: {
        0: "The old rollouts are pruned, or there are none",
        1: "An error occurred",
        2: "There are old rollouts to prune, and --yes is missing",
      },
    },
  );
}

const DAY_MS = 86_400_000;

function parseRetentionDays(text: string): number {
  const [, count] = /^([1-9]\d{0,4})d$/.exec(text) ?? [];
  if (count !== undefined) return Number(count);
  throw new InvalidArgumentError("Give days as 180d; the minimum is 1d.");
}

async function runPruneCommand(options: PruneOptions): Promise<ExitCode> {
  const { olderThan, yes } = options;
  return await runWithPastRollouts(options, async (rollouts) => {
    const { findOldRollouts } = await import("../../rollout/history/old-rollouts.js");
    const { journal } = rollouts;
    const nowMs = Date.now();
    const cutoff = new Date(nowMs - olderThan * DAY_MS);
    const candidates = await findOldRollouts(journal, cutoff.getTime());
    const { prunable, unstartedIds } = candidates;
    const day = cutoff.toISOString().slice(0, 10);
    printNeeded(candidates);
    if (prunable.length + unstartedIds.length === 0) {
      console.log(`Nothing to prune: no rollout ended before ${day}.`);
      return EXIT.clean;
    }
    for (const { id, spec, digest } of prunable) console.log(sanitizeLine(`${id}  ${spec.source}  ${digest}`));
    if (unstartedIds.length > 0) {
      console.log(
        `${formatCount(unstartedIds.length, "rollout")} that can't be started, because the planning was interrupted`,
      );
    }
    if (yes !== true) {
      console.error(
        `Nothing was changed. Of ${formatCount(prunable.length, "rollout")} that ended before ${day}, the files, whole plans and tenants' steps would be removed; who changed what, when and why stays. To remove them, add --yes`,
      );
      return EXIT.changes;
    }
    return await pruneAll(rollouts, candidates, nowMs);
  });
}

function printNeeded({ retainedRollouts }: OldRollouts): void {
  for (const { record, reason } of retainedRollouts.slice(0, 5)) {
    console.error(sanitizeMultiline(`Not pruned: ${record.id} (${record.state}): ${reason}.`));
  }
  if (retainedRollouts.length > 5) console.error(`… and ${retainedRollouts.length - 5} more that can't be pruned.`);
}

async function pruneAll(rollouts: Rollouts, { prunable, unstartedIds }: OldRollouts, nowMs: number): Promise<ExitCode> {
  const { pruneRollout } = await import("../../rollout/history/prune-rollout.js");
  const { journal } = rollouts;
  let prunedCount = 0;
  for (const { id } of prunable) {
    // Another process may have resumed the rollout in the meantime.
    if (!(await rollouts.isLocked(id)) && (await pruneRollout(journal.database, id, nowMs))) prunedCount += 1;
  }
  for (const id of unstartedIds) await rollouts.deleteUnstarted(id);
  console.log(`Pruned ${formatCount(prunedCount, "rollout")}.`);
  if (journal.database.dialect === "sqlite") {
    // SQLite reuses free pages, so a failure to shrink the file is harmless.
    await journal.database.query("VACUUM").catch((error: Error) => {
      console.error(sanitizeMultiline(`note: the file was not shrunk: ${error.message}`));
    });
  }
  return EXIT.clean;
}
