import { Command } from "commander";
import { ConfigurationError } from "../client/errors";
import { EXIT, type ExitCode, verb, writeOutput } from "./command-line";
import { date, defaultFile, wholeNumber, withinOption } from "./plan-options";
import { dropCommand, keepCommand, reviewExtendCommand } from "./review-decisions";
import { withHelp } from "./verb-help";

interface Options {
  readonly days: number;
  readonly maxPages?: number;
  readonly within: number;
  readonly today?: string;
  readonly offline?: true;
  readonly markdown?: string;
  readonly html?: string;
  readonly csv?: string;
  readonly json?: string;
}

/**
 * `email-security review`: what of the settings should be looked at, and the decisions about it. Exit codes: 0 nothing, 2 something,
 * 1 an error.
 */
export function reviewCommand(): Command {
  return withHelp(
    new Command("review")
      .description("list what stands and should be looked at, with a reason each; record what is decided")
      .argument("[file]", "settings file (default: settings.yaml, or the only one in settings)")
      .option("--days <number>", "days of the tenant's mail to look at", wholeNumber, 30)
      .option("--max-pages <number>", "most pages of threats to read (default: 100)", wholeNumber)
      .addOption(withinOption())
      .option("--today <date>", "the day (UTC) by which ends and reviews are judged", date)
      .option("--offline", "ask no tenant; tell what the files alone can")
      .option("--markdown <file>", "also write it as Markdown, for an issue, with a box each")
      .option("--html <file>", "also write it as a page, to filter and sort")
      .option("--csv <file>", "also write it as a table for spreadsheets")
      .option("--json <file>", "also write it as JSON; each of these takes - for stdout and nothing else")
      .action(verb(run))
      .addCommand(keepCommand())
      .addCommand(reviewExtendCommand())
      .addCommand(dropCommand()),
    {
      examples: [
        { does: "what of a tenant's settings should be looked at", line: "review settings/acme.yaml" },
        { does: "for an issue, as a monthly job does", line: "review --markdown review.md" },
        {
          does: "a quarter's mail, as a page to filter and sort",
          line: "review --days 90 --html review.html",
        },
      ],
      exits: {
        0: "there is nothing to look at",
        1: "an error",
        2: "there is something to look at, or not all of the mail could be read",
      },
    },
  );
}

async function run(given: string | undefined, options: Options): Promise<ExitCode> {
  const { readSettings } = await import("../files/read-settings.js");
  const { reviewOf } = await import("../gitops/review.js");
  const { REVIEW_FORMAT } = await import("../gitops/review/review-schema.js");
  const outputs = outputsOf(options);
  const file = given ?? (await defaultFile());
  const settings = readSettings(file, options.today === undefined ? {} : { today: options.today });
  const asked = options.offline ? undefined : await (await import("./asked-tenant.js")).askTenant(options);
  const review = reviewOf(settings, asked, { withinDays: options.within });
  const report = {
    format: REVIEW_FORMAT,
    file,
    ...(asked === undefined ? {} : { host: asked.host }),
    today: settings.today,
    ...review,
  } as const;
  let isPrinted = false;
  for (const [target, textOf] of outputs) {
    const text = (await textOf())(report);
    if (target === "-") {
      process.stdout.write(text);
      isPrinted = true;
    } else writeOutput(target, text, "review");
  }
  if (!isPrinted) {
    const { reviewText } = await import("../gitops/review/review-text.js");
    process.stdout.write(reviewText(report, process.stdout.columns));
  }
  // Else a job would take for decided what nobody has looked at.
  if (review.unread.length > 0)
    console.error("warning: not all of the mail could be read; there may be more.");
  return review.items.length === 0 && review.unread.length === 0 ? EXIT.clean : EXIT.changes;
}

type TextOf = (report: import("../gitops/review/review-schema.js").ReviewReport) => string;

/** Where it is written, and how it is made. */
function outputsOf({
  markdown,
  html,
  csv,
  json,
}: Options): [target: string, textOf: () => Promise<TextOf>][] {
  const all: [string | undefined, () => Promise<TextOf>][] = [
    [markdown, async () => (await import("../gitops/review/review-markdown.js")).reviewMarkdown],
    [html, async () => (await import("../gitops/review/review-html.js")).reviewHtml],
    [csv, async () => (await import("../gitops/review/review-csv.js")).reviewCsv],
    [json, async () => (await import("../gitops/review/review-schema.js")).reviewJson],
  ];
  if (all.filter(([target]) => target === "-").length > 1) {
    throw new ConfigurationError("Only one of --markdown, --html, --csv and --json can go to stdout.");
  }
  return all.filter((one): one is [string, () => Promise<TextOf>] => one[0] !== undefined);
}
