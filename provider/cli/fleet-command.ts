import { Command } from "commander";
import { EXIT, type ExitCode, programName, verb, writeOutput } from "./command-line";
import { siteCommand } from "./fleet-site-command";
import { type FleetReading, readFleet, warnOfUnread, withReading } from "./read-fleet";
import { withHelp } from "./verb-help";

interface Options extends FleetReading {
  readonly json?: string | true;
  readonly markdown?: string;
}

/** `email-security fleet`: what is read of all tenants over time, without changing one. */
export function fleetCommand(): Command {
  return withHelp(
    new Command("fleet")
      .description("how all tenants stand; none is changed")
      .addCommand(statusCommand())
      .addCommand(siteCommand()),
    {
      examples: [
        { does: "which tenants are not as their files declare", line: "fleet status" },
        { does: "the same for a script", line: "fleet status --json" },
        { does: "the same as pages, with all that tenants have", line: "fleet site site" },
      ],
      exits: {},
    },
  );
}

/**
 * `email-security fleet status`: how each tenant stands. Exit codes: 0 all are in step, 2 one has drifted or is behind, 1 an error,
 * or not all could be read.
 */
function statusCommand(): Command {
  const command = new Command("status").description(
    "show which tenants are as their files declare, which have drifted and which are behind",
  );
  return withHelp(
    withReading(command)
      .option("--json [file]", "as JSON, printed or into a file")
      .option("--markdown <file>", "also write it as Markdown, for an issue")
      .action(verb(status)),
    {
      examples: [
        { does: "all tenants of tenants.yaml", line: "fleet status" },
        {
          does: "some of them, and what ends within six weeks",
          line: "fleet status --label ring=canary --within 6w",
        },
        {
          does: "for an issue and for later, with a notice of what is new, as a nightly job does",
          line: "fleet status --markdown fleet.md --json fleet.json --notify told.json",
        },
      ],
      exits: {
        0: "all tenants are in step",
        1: "an error, or not all could be read or told",
        2: "a tenant has drifted or is behind its files; all were read",
      },
    },
  );
}

async function status(options: Options): Promise<ExitCode> {
  const read = await readFleet(options);
  const { status } = read;
  const { statusText } = await import("../fleet/status/status-text.js");
  const { statusMarkdown } = await import("../fleet/status/status-markdown.js");
  const { statusJson } = await import("../fleet/status/status-schema.js");
  const { RolloutCommands } = await import("../rollout/commands.js");
  const { json, markdown, database = [] } = options;
  // A command that continues a rollout reads one journal: of several, only the user knows which.
  const commands = new RolloutCommands(database.length === 1 ? database[0] : undefined, programName());
  if (markdown !== undefined) writeOutput(markdown, statusMarkdown(status, commands), "status");
  if (typeof json === "string") writeOutput(json, statusJson(status), "status");
  process.stdout.write(
    json === true ? statusJson(status) : statusText(status, process.stdout.columns, commands),
  );
  if (warnOfUnread(read)) return EXIT.error;
  return status.tenants.every(({ standing }) => standing === "in-step") ? EXIT.clean : EXIT.changes;
}
