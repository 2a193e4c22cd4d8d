import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addJournalOption, type JournalOptions } from "../../cli/journal-location";
import { addOutputOptions, type Output, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { wrapAction } from "../../cli/wrap-action";
import { ConfigurationError } from "../../client";
import { sanitizeMultiline } from "../../model/text";
import { getExitCode } from "./execute-rollout";
import { printSkippedTenants } from "./rollout-skip";
import {
  findRollout,
  JOURNAL_HELP,
  ROLLOUT_FORMATS,
  type RolloutFormat,
  runWithKnownRollouts,
} from "./run-with-rollouts";

interface StatusOptions extends JournalOptions, OutputOptions<RolloutFormat> {
  readonly list?: boolean;
}

export function createRolloutStatusCommand(): Command {
  return addHelp(
    addOutputOptions(addJournalOption(new Command("status"), JOURNAL_HELP), ROLLOUT_FORMATS)
      .description("Show the progress of a rollout, and the outcome of each tenant")
      .argument("[id]", "The rollout's id, or the beginning of it (default: the newest)")
      .option("--list", "List all rollouts, one per line")
      .action(wrapAction(runRolloutStatusCommand)),
    {
      examples: [
        { purpose: "Show the newest rollout", line: "rollout status" },
        { purpose: "List all rollouts of the journal", line: "rollout status --list" },
        { purpose: "Show a rollout for a script", line: "rollout status 20261121-0800-7f3a91 --format json" },
      ],
      exits: {
        0: "All tenants match their files, except skipped ones",
        1: "An error occurred, or a tenant failed",
        2: "The rollout is in progress or waiting, or it left out a tenant that the targets file now describes differently",
      },
    },
  );
}

async function runRolloutStatusCommand(id: string | undefined, options: StatusOptions): Promise<ExitCode> {
  const outputs = parseOutputs(options, ROLLOUT_FORMATS);
  if (options.list === true && !outputs.every(isTextOutput)) {
    throw new ConfigurationError("--list supports only text. For a script, use `rollout history --format json`.");
  }
  return await runWithKnownRollouts(options, async (rollouts) => {
    const { formatRolloutList, createReportRenderers } = await import("./rollout-output.js");
    const { isOpenRollout } = await import("../../rollout/journal/select-rollout.js");
    const records = await rollouts.journal.listRollouts();
    if (options.list === true) {
      const { readRolloutTallies } = await import("../../rollout/journal/rollout-tally.js");
      const countsById = await readRolloutTallies(rollouts.journal.database);
      const listedRollouts = records.map(async (record) => ({
        record,
        tally: countsById.get(record.id),
        isLocked: record.state === "running" && (await rollouts.isLocked(record.id)),
      }));
      const text = formatRolloutList(await Promise.all(listedRollouts));
      await writeOutputs(outputs.filter(isTextOutput), { text: () => text });
      return EXIT.clean;
    }
    const record = await findRollout(rollouts, id, "status");
    const report = await rollouts.report(record.id);
    await writeOutputs(outputs, createReportRenderers(report));
    await printSkippedTenants(rollouts, record, "Skipped now", report.skipped);
    // Mention other open rollouts too: one may be waiting behind the newest.
    const otherOpen =
      id === undefined ? records.filter((candidate) => candidate.id !== record.id && isOpenRollout(candidate)) : [];
    for (const openRecord of otherOpen.slice(0, 5)) {
      console.error(
        sanitizeMultiline(`Also unfinished: \`${rollouts.commands.status(openRecord.id)}\` (${openRecord.state})`),
      );
    }
    if (otherOpen.length > 5) console.error(`… and ${otherOpen.length - 5} more unfinished rollouts.`);
    return getExitCode(report);
  });
}

function isTextOutput(output: Output<RolloutFormat>): output is Output<"text"> {
  return output.format === "text";
}
