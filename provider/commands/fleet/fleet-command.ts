import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { getCommandName } from "../../cli/command-name";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { wrapAction } from "../../cli/wrap-action";
import { createFleetSiteCommand } from "./fleet-site-command";
import { addFleetReadOptions, type FleetReadOptions, readFleet, warnIfIncomplete } from "./read-fleet";

const FORMATS = ["text", "markdown", "json"] as const;

type FleetStatusCommandOptions = FleetReadOptions & OutputOptions<(typeof FORMATS)[number]>;

export function createFleetCommand(): Command {
  return addHelp(
    new Command("fleet")
      .description("Show the status of all tenants, without changing any")
      .addCommand(createFleetStatusCommand())
      .addCommand(createFleetSiteCommand()),
    {
      examples: [
        { purpose: "Show which tenants differ from their files", line: "fleet status" },
        { purpose: "Show the same for a script", line: "fleet status --format json" },
        { purpose: "Write the status and all settings as a static site", line: "fleet site site" },
      ],
      exits: {},
    },
  );
}

/**
 * Builds `email-security fleet status`, which shows the state of each tenant. Exit codes: 0 all are in sync; 2 a tenant has drifted or is
 * behind; 1 an error, or incomplete data.
 */
function createFleetStatusCommand(): Command {
  const command = new Command("status").description(
    "Show which tenants are in sync with their files, have drifted or are behind",
  );
  return addHelp(addOutputOptions(addFleetReadOptions(command), FORMATS).action(wrapAction(runFleetStatusCommand)), {
    examples: [
      { purpose: "Check all tenants of tenants.yaml", line: "fleet status" },
      {
        purpose: "Check some tenants, and show what expires within six weeks",
        line: "fleet status --label ring=canary --within 6w",
      },
      {
        purpose: "Write the status as Markdown and JSON, and send notices of new findings, as a nightly job does",
        line: "fleet status --output fleet.md --output fleet.json --notify sent.json",
      },
    ],
    exits: {
      0: "All tenants are in sync",
      1: "An error occurred, a tenant could not be read, or a notice could not be delivered",
      2: "A tenant isn't in sync; all tenants were read",
    },
  });
}

async function runFleetStatusCommand(options: FleetStatusCommandOptions): Promise<ExitCode> {
  const outputs = parseOutputs(options, FORMATS);
  const result = await readFleet(options);
  const { status, targets } = result;
  const { renderStatusText } = await import("../../fleet/status/status-text.js");
  const { renderStatusMarkdown } = await import("../../fleet/status/status-markdown.js");
  const { formatStatusJson } = await import("../../fleet/status/status-schema.js");
  const { RolloutCommands } = await import("../../rollout/model/rollout-commands.js");
  const { database = [] } = options;
  // A command that continues a rollout reads one journal: of several, only the user knows which.
  const commands = new RolloutCommands(database.length === 1 ? database[0] : undefined, getCommandName());
  await writeOutputs(outputs, {
    text: ({ columns }) => renderStatusText(status, columns, commands, targets),
    markdown: () => renderStatusMarkdown(status, commands, targets),
    json: () => formatStatusJson(status),
  });
  if (warnIfIncomplete(result)) return EXIT.error;
  return status.tenants.every(({ syncStatus }) => syncStatus === "in-sync") ? EXIT.clean : EXIT.changes;
}
