import { Command } from "commander";
import { EXIT, type ExitCode, programName, verb } from "../../cli/command-line";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { writeOutputs } from "../../cli/output/write-outputs";
import { withHelp } from "../../cli/verb-help";
import { siteCommand } from "./fleet-site-command";
import { type FleetReading, readFleet, warnOfUnread, withReading } from "./read-fleet";

const FORMATS = ["text", "markdown", "json"] as const;

type FleetStatusCommandOptions = FleetReading & OutputOptions<(typeof FORMATS)[number]>;

/** Builds `email-security fleet`, the read-only commands for all tenants. */
export function fleetCommand(): Command {
  return withHelp(
    new Command("fleet")
      .description("Show the status of all tenants, without changing one")
      .addCommand(createFleetStatusCommand())
      .addCommand(siteCommand()),
    {
      examples: [
        { does: "which tenants are not as their files declare", line: "fleet status" },
        { does: "the same for a script", line: "fleet status --format json" },
        { does: "the same as pages, with all that tenants have", line: "fleet site site" },
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
  return withHelp(withOutputs(withReading(command), FORMATS).action(verb(runFleetStatusCommand)), {
    examples: [
      { does: "all tenants of tenants.yaml", line: "fleet status" },
      {
        does: "some of them, and what ends within six weeks",
        line: "fleet status --label ring=canary --within 6w",
      },
      {
        does: "for an issue and for later, with a notice of what is new, as a nightly job does",
        line: "fleet status --output fleet.md --output fleet.json --notify told.json",
      },
    ],
    exits: {
      0: "all tenants are in step",
      1: "an error, or not all could be read or told",
      2: "a tenant has drifted or is behind its files; all were read",
    },
  });
}

async function runFleetStatusCommand(options: FleetStatusCommandOptions): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const result = await readFleet(options);
  const { status, targets } = result;
  const { statusText } = await import("../../fleet/status/status-text.js");
  const { statusMarkdown } = await import("../../fleet/status/status-markdown.js");
  const { statusJson } = await import("../../fleet/status/status-schema.js");
  const { RolloutCommands } = await import("../../rollout/model/commands.js");
  const { database = [] } = options;
  // A command that continues a rollout reads one journal: of several, only the user knows which.
  const commands = new RolloutCommands(database.length === 1 ? database[0] : undefined, programName());
  await writeOutputs(outputs, {
    text: ({ columns }) => statusText(status, columns, commands, targets),
    markdown: () => statusMarkdown(status, commands, targets),
    json: () => statusJson(status),
  });
  if (warnOfUnread(result)) return EXIT.error;
  return status.tenants.every(({ standing }) => standing === "in-step") ? EXIT.clean : EXIT.changes;
}
