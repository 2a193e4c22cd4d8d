import { Command } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { type Renderers, writeOutputs } from "../../cli/output/write-outputs";
import { defaultFile, todayOption, wholeNumber, withinOption } from "../../cli/plan-options";
import { withHelp } from "../../cli/verb-help";
import { dropCommand, keepCommand, reviewExtendCommand } from "./review-decisions";

const FORMATS = ["text", "markdown", "html", "csv", "json"] as const;

interface Options extends OutputOptions<(typeof FORMATS)[number]> {
  readonly days: number;
  readonly maxPages?: number;
  readonly within: number;
  readonly today?: string;
  readonly offline?: true;
}

/**
 * `email-security review`: lists the settings that a person should look at, and records decisions. Exit codes: 0 nothing to review, 2 items
 * to review, 1 error.
 */
export function reviewCommand(): Command {
  return withHelp(
    withOutputs(new Command("review"), FORMATS)
      .description("List entries and VIPs that need a review, with reasons, and record decisions")
      .argument("[file]", "Settings file (default: settings.yaml, or the only one in settings)")
      .option("--days <number>", "Read this many days of the tenant's mail", wholeNumber, 30)
      .option("--max-pages <number>", "Read at most this many pages of threats (default: 100)", wholeNumber)
      .addOption(withinOption())
      .addOption(todayOption())
      .option("--offline", "Read only files, and send no request to the tenant")
      .action(verb(runReviewCommand))
      .addCommand(keepCommand())
      .addCommand(reviewExtendCommand())
      .addCommand(dropCommand()),
    {
      examples: [
        { does: "what of a tenant's settings should be looked at", line: "review settings/acme.yaml" },
        { does: "for an issue, as a monthly job does", line: "review --output review.md" },
        {
          does: "a quarter's mail, as a page to filter and sort",
          line: "review --days 90 --output review.html",
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

async function runReviewCommand(fileArgument: string | undefined, options: Options): Promise<ExitCode> {
  const { readSettings } = await import("../../files/read-settings.js");
  const { reviewOf } = await import("./review.js");
  const { REVIEW_FORMAT } = await import("./review-schema.js");
  const outputs = readOutputs(options, FORMATS);
  const file = fileArgument ?? (await defaultFile());
  const settings = readSettings(file, options.today === undefined ? {} : { today: options.today });
  const tenantData = options.offline ? undefined : await (await import("../../cli/asked-tenant.js")).askTenant(options);
  const review = reviewOf(settings, tenantData, { withinDays: options.within });
  const report = {
    format: REVIEW_FORMAT,
    file,
    ...(tenantData === undefined ? {} : { host: tenantData.host }),
    today: settings.today,
    ...review,
  } as const;
  await writeOutputs(outputs, await createReviewRenderers(report));
  // Without this warning, a job would treat unread mail as reviewed.
  if (review.unread.length > 0) console.error("warning: not all of the mail could be read; there may be more.");
  return review.items.length === 0 && review.unread.length === 0 ? EXIT.clean : EXIT.changes;
}

async function createReviewRenderers(
  report: import("./review-schema.js").ReviewReport,
): Promise<Renderers<(typeof FORMATS)[number]>> {
  const { reviewText } = await import("./review-text.js");
  const { reviewMarkdown } = await import("./review-markdown.js");
  const { reviewHtml } = await import("./review-html.js");
  const { reviewCsv } = await import("./review-csv.js");
  const { reviewJson } = await import("./review-schema.js");
  return {
    text: ({ columns }) => reviewText(report, columns),
    markdown: () => reviewMarkdown(report),
    html: () => reviewHtml(report),
    csv: () => reviewCsv(report),
    json: () => reviewJson(report),
  };
}
