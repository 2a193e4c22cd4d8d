import { Command, Option } from "commander";
import type { Drift } from "../gitops/drift";
import { NO_STACK, readOwnDomainNames } from "../resources/configuration";
import { excerpt, printable, printableJson } from "../settings/text";
import { connect, EXIT, type ExitCode, verb, writeOutput } from "./command-line";
import { defaultFile } from "./plan-options";
import { withHelp } from "./verb-help";

interface Options {
  readonly today?: string;
  readonly adopt?: boolean;
  readonly revert?: boolean;
  readonly stack?: string;
  readonly markdown?: string;
  readonly json?: string;
  readonly format: "text" | "markdown" | "json";
}

/**
 * `email-security drift`: what the tenant holds otherwise than its files declare it, with who did it and when. Exit codes:
 * 0 none, 2 drift (after `--adopt`: what was not adopted), 1 error.
 */
export function driftCommand(): Command {
  return withHelp(
    new Command("drift")
      .description("show what was changed at the tenant past its settings files")
      .argument("[file]", "the tenant's settings file (default: settings.yaml, or the only one in settings)")
      .option("--adopt", "write what was added in the console into the settings files, for a pull request")
      .option("--revert", "show the commands that undo it; nothing is run")
      .option(
        "--stack <name>",
        "the stack that applies it: tells what it declared before from what the console added",
      )
      .option("--today <date>", "the day (UTC) by which `expires` is judged")
      .addOption(
        new Option("--format <format>", "what is printed")
          .choices(["text", "markdown", "json"])
          .default("text"),
      )
      .option("--markdown <file>", "also write it as Markdown, for an issue")
      .option("--json <file>", "also write it as JSON")
      .action(verb(run)),
    {
      examples: [
        {
          does: "what the console changed since the stack's last run",
          line: "drift settings/acme.yaml --stack acme",
        },
        { does: "take what was added in the console into the files", line: "drift --stack acme --adopt" },
        { does: "for an issue, as a nightly job does", line: "drift --stack acme --markdown drift.md" },
      ],
      exits: {
        0: "there is none, or all of it was adopted",
        1: "an error",
        2: "there is drift",
      },
    },
  );
}

async function run(given: string | undefined, options: Options): Promise<ExitCode> {
  const { readSettings } = await import("../files/read-settings.js");
  const { readerFrom } = await import("../files/read-source.js");
  const { driftOf } = await import("../gitops/drift.js");
  const { observe } = await import("../plan/observed.js");
  const { hostOf } = await import("../gitops/plan-tenant.js");
  const { readStackState } = await import("../plan/stack-state.js");
  const { driftMarkdown, driftText } = await import("../gitops/drift-report.js");
  const file = given ?? (await defaultFile());
  const settings = readSettings(file, options.today === undefined ? {} : { today: options.today });
  const client = connect();
  let drift: Drift;
  try {
    const known = options.stack === undefined ? undefined : await readStackState(options.stack, undefined);
    drift = driftOf(settings, await observe(client), hostOf(client), known, {
      ownDomains: readOwnDomainNames(NO_STACK, process.env),
      accepting: { environment: process.env },
    });
  } finally {
    await client.close();
  }
  const json = (): string => `${printableJson(JSON.stringify(drift, undefined, 2))}\n`;
  if (options.markdown !== undefined) writeOutput(options.markdown, driftMarkdown(drift), "drift");
  if (options.json !== undefined) writeOutput(options.json, json(), "drift");
  const printed = { text: driftText, markdown: driftMarkdown, json };
  // What --revert shows can be piped on to a shell, so the report makes way for it.
  (options.revert ? process.stderr : process.stdout).write(printed[options.format](drift));
  if (options.revert) {
    const { revertCommands } = await import("../gitops/drift-revert.js");
    const up = ["pulumi up --refresh", ...(options.stack === undefined ? [] : ["--stack", options.stack])];
    console.log(revertCommands(drift, up.join(" ")).join("\n"));
  }
  if (!options.adopt) return drift.items.length > 0 ? EXIT.changes : EXIT.clean;

  const { adopt } = await import("../gitops/drift-adopt.js");
  const { files, adopted, left } = adopt(drift, settings, readerFrom(file));
  const { writeSettings } = await import("../files/write-settings.js");
  for (const one of files) writeSettings(one.file, one.after);
  // A line each, whatever the service or a file holds.
  const say = (line: string): void => console.error(printable(line));
  for (const one of files) say(`Wrote ${one.file}.`);
  if (adopted.length > 0) {
    say(
      `${adopted.length} adopted: look at \`git diff\`, say who answers for each, and open a pull request.`,
    );
  }
  for (const { item, why } of left)
    say(`Not adopted: ${item.there?.list ?? "VIP"} ${excerpt(item.value)}: ${excerpt(why, 1_000)}.`);
  const rest = drift.items.length - adopted.length;
  if (rest > left.length)
    say(
      `${rest - left.length} more differ from what is declared: the next \`pulumi up --refresh\` mends them.`,
    );
  return rest > 0 ? EXIT.changes : EXIT.clean;
}
