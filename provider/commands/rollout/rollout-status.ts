import { Command } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { type JournalOptions, withJournal } from "../../cli/journal-place";
import { type Output, type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { writeOutputs } from "../../cli/output/write-outputs";
import { withHelp } from "../../cli/verb-help";
import { ConfigurationError } from "../../client";
import { harmless } from "../../settings/text";
import { findRollout, JOURNAL, ROLLOUT_FORMATS, type RolloutFormat, withKnownRollouts } from "./open-rollouts";
import { codeOf } from "./rollout-run";
import { tellSkipped } from "./rollout-skip";

interface StatusOptions extends JournalOptions, OutputOptions<RolloutFormat> {
  readonly list?: boolean;
}

/** `rollout status`: shows a rollout's progress. Read-only. */
export function statusCommand(): Command {
  return withHelp(
    withOutputs(withJournal(new Command("status"), JOURNAL), ROLLOUT_FORMATS)
      .description("Show the progress of a rollout, and the outcome of each tenant")
      .argument("[id]", "The rollout, or the beginning of its id (default: the newest)")
      .option("--list", "List all rollouts, a line each")
      .action(verb(runRolloutStatusCommand)),
    {
      examples: [
        { does: "the newest", line: "rollout status" },
        { does: "all of the journal", line: "rollout status --list" },
        { does: "for a script", line: "rollout status 20261121-0800-7f3a91 --format json" },
      ],
      exits: {
        0: "all tenants are as declared, but for those that are skipped",
        1: "an error, or a tenant failed",
        2: "it is under way, or waits, or left out a tenant that the targets file doesn't name as it was",
      },
    },
  );
}

async function runRolloutStatusCommand(id: string | undefined, options: StatusOptions): Promise<ExitCode> {
  const outputs = readOutputs(options, ROLLOUT_FORMATS);
  if (options.list === true && !outputs.every(isTextOutput)) {
    throw new ConfigurationError("--list is text alone. `rollout history --format json` lists rollouts for a script.");
  }
  return await withKnownRollouts(options, async (rollouts) => {
    const { printedList, reportRenderers } = await import("./rollout-output.js");
    const { isOpen } = await import("../../rollout/journal/which-rollout.js");
    const records = await rollouts.journal.records();
    if (options.list === true) {
      const { talliesOf } = await import("../../rollout/journal/across-rollouts.js");
      const countsById = await talliesOf(rollouts.journal.database);
      const listedRollouts = records.map(async (record) => ({
        record,
        tally: countsById.get(record.id),
        isHeld: record.state === "running" && (await rollouts.isHeld(record.id)),
      }));
      const text = printedList(await Promise.all(listedRollouts));
      await writeOutputs(outputs.filter(isTextOutput), { text: () => text });
      return EXIT.clean;
    }
    const record = await findRollout(rollouts, id, "status");
    const report = await rollouts.report(record.id);
    await writeOutputs(outputs, reportRenderers(report));
    const reportedNames = new Set((report.skipped ?? []).map(({ name }) => name));
    await tellSkipped(rollouts, record, "Skipped now", reportedNames);
    // Mention other open rollouts too: one may be waiting behind the newest.
    const otherOpen =
      id === undefined ? records.filter((candidate) => candidate.id !== record.id && isOpen(candidate)) : [];
    for (const openRecord of otherOpen.slice(0, 5)) {
      console.error(
        harmless(`Not through either: \`${rollouts.commands.status(openRecord.id)}\` (${openRecord.state})`),
      );
    }
    if (otherOpen.length > 5) console.error(`… and ${otherOpen.length - 5} more that are not through.`);
    return codeOf(report);
  });
}

function isTextOutput(output: Output<RolloutFormat>): output is Output<"text"> {
  return output.format === "text";
}
