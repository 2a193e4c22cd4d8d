import { Command } from "commander";
import { harmless, printableJson } from "../settings/text";
import { EXIT, type ExitCode, verb, writeOutput } from "./command-line";
import { date, defaultFile, wholeNumber } from "./plan-options";
import { dropCommand, keepCommand, reviewExtendCommand } from "./review-decisions";
import { withHelp } from "./verb-help";

interface Options {
  readonly days: number;
  readonly maxPages?: number;
  readonly today?: string;
  readonly offline?: true;
  readonly markdown?: string;
  readonly json?: string;
}

/**
 * `email-security review`: what of the settings should be looked at, and the decisions about it. Exit codes: 0 nothing, 2 something,
 * 1 an error.
 */
export function reviewCommand(): Command {
  return withHelp(
    new Command("review")
      .configureOutput({ outputError: (text, write) => write(harmless(text)) })
      .description("list what stands and should be looked at, with a reason each; record what is decided")
      .argument("[file]", "settings file (default: settings.yaml, or the only one in settings)")
      .option("--days <number>", "days of the tenant's mail to look at", wholeNumber, 30)
      .option("--max-pages <number>", "most pages of threats to read (default: 100)", wholeNumber)
      .option("--today <date>", "the day (UTC) by which ends and reviews are judged", date)
      .option("--offline", "ask no tenant; tell what the files alone can")
      .option("--markdown <file>", "also write it as Markdown, for an issue, with a box each")
      .option("--json <file>", "also write it as JSON; - for stdout and nothing else")
      .action(verb(run))
      .addCommand(keepCommand())
      .addCommand(reviewExtendCommand())
      .addCommand(dropCommand()),
    {
      examples: [
        { does: "what of a tenant's settings should be looked at", line: "review settings/acme.yaml" },
        { does: "for an issue, as a monthly job does", line: "review --markdown review.md" },
      ],
      exits: { 0: "there is nothing to look at", 1: "an error", 2: "there is something to look at" },
    },
  );
}

async function run(given: string | undefined, options: Options): Promise<ExitCode> {
  const { readSettings } = await import("../files/read-settings.js");
  const { askTenant } = await import("./asked-tenant.js");
  const { reviewOf } = await import("../gitops/review.js");
  const { reviewMarkdown, reviewText } = await import("../gitops/review-report.js");
  const file = given ?? (await defaultFile());
  const settings = readSettings(file, options.today === undefined ? {} : { today: options.today });
  const review = reviewOf(settings, options.offline ? undefined : await askTenant(options));
  const json = `${printableJson(JSON.stringify({ format: 1, file, ...review }, undefined, 2))}\n`;
  if (options.markdown !== undefined) writeOutput(options.markdown, reviewMarkdown(review, file), "review");
  if (options.json !== undefined && options.json !== "-") writeOutput(options.json, json, "review");
  process.stdout.write(options.json === "-" ? json : reviewText(review, file));
  return review.items.length === 0 ? EXIT.clean : EXIT.changes;
}
