import { Command, InvalidArgumentError } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { type JournalOptions, withJournal } from "../../cli/journal-place";
import { withHelp } from "../../cli/verb-help";
import { counted } from "../../render/words";
import type { OldRollouts } from "../../rollout/history/what-may-go";
import type { Rollouts } from "../../rollout/rollouts";
import { harmless, printable } from "../../settings/text";
import { JOURNAL, withPastRollouts } from "./open-rollouts";

interface PruneOptions extends JournalOptions {
  readonly olderThan: number;
  readonly yes?: boolean;
}

/** `rollout prune`: removes old rollouts to keep the journal small. Changes no tenant. */
export function pruneCommand(): Command {
  return withHelp(
    withJournal(new Command("prune"), JOURNAL)
      .description(
        "Remove files, whole plans and tenants' steps of old rollouts from the journal; keep who changed what, when and why",
      )
      .requiredOption("--older-than <days>", "Remove from rollouts that ended this long ago: 180d", parseDays)
      .option("--yes", "Apply it; without it, only list what would go")
      .action(verb(runPruneCommand)),
    {
      examples: [
        { does: "tell what would go", line: "rollout prune --older-than 180d" },
        { does: "take it away", line: "rollout prune --older-than 180d --yes" },
      ],
      exits: {
        0: "it is gone, or there is nothing so old",
        1: "an error",
        2: "something would go, and there was no --yes",
      },
    },
  );
}

const DAY_MS = 86_400_000;

function parseDays(text: string): number {
  const [, count] = /^([1-9]\d{0,4})d$/.exec(text) ?? [];
  if (count !== undefined) return Number(count);
  throw new InvalidArgumentError("Give days, as 180d; 1d is the least.");
}

async function runPruneCommand(options: PruneOptions): Promise<ExitCode> {
  const { olderThan, yes } = options;
  return await withPastRollouts(options, async (rollouts) => {
    const { oldRollouts } = await import("../../rollout/history/what-may-go.js");
    const { journal } = rollouts;
    const nowMs = Date.now();
    const cutoff = new Date(nowMs - olderThan * DAY_MS);
    const candidates = await oldRollouts(journal, cutoff.getTime());
    const { mayGo, unbegun } = candidates;
    const day = cutoff.toISOString().slice(0, 10);
    printNeeded(candidates);
    if (mayGo.length + unbegun.length === 0) {
      console.log(`Nothing that ended before ${day} is left to prune.`);
      return EXIT.clean;
    }
    for (const { id, spec, digest } of mayGo) console.log(printable(`${id}  ${spec.source}  ${digest}`));
    if (unbegun.length > 0) {
      console.log(`${counted(unbegun.length, "rollout")} whose planning was interrupted, and that nobody can begin`);
    }
    if (yes !== true) {
      console.error(
        `Nothing was changed. Of ${counted(mayGo.length, "rollout")} that ended before ${day}, the files, whole plans and tenants' steps would go; who changed what, when and why stays. To do it: add --yes`,
      );
      return EXIT.changes;
    }
    return await pruneAll(rollouts, candidates, nowMs);
  });
}

function printNeeded({ needed }: OldRollouts): void {
  for (const { record, why } of needed.slice(0, 5)) {
    console.error(harmless(`Stays whole: ${record.id} (${record.state}): ${why}.`));
  }
  if (needed.length > 5) console.error(`… and ${needed.length - 5} more that stay whole.`);
}

async function pruneAll(rollouts: Rollouts, { mayGo, unbegun }: OldRollouts, nowMs: number): Promise<ExitCode> {
  const { pruneRollout } = await import("../../rollout/history/prune-rollout.js");
  const { journal } = rollouts;
  let prunedCount = 0;
  for (const { id } of mayGo) {
    // Another process may have resumed the rollout in the meantime.
    if (!(await rollouts.isHeld(id)) && (await pruneRollout(journal.database, id, nowMs))) prunedCount += 1;
  }
  for (const id of unbegun) await rollouts.forgetUnbegun(id);
  console.log(`Pruned ${counted(prunedCount, "rollout")}.`);
  if (journal.database.dialect === "sqlite") {
    // SQLite reuses free pages, so a failure to shrink the file is harmless.
    await journal.database.query("VACUUM").catch((error: Error) => {
      console.error(harmless(`note: the file keeps its size for now: ${error.message}`));
    });
  }
  return EXIT.clean;
}
