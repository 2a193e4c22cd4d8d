import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { createTodayOption, createWithinOption } from "../../cli/date-options";
import { findDefaultSettingsFile } from "../../cli/default-settings-file";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { parsePositiveInteger } from "../../cli/option-parsers";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { type Renderers, writeOutputs } from "../../cli/output/write-outputs";
import { wrapAction } from "../../cli/wrap-action";
import { createReviewDropCommand, createReviewExtendCommand, createReviewKeepCommand } from "./review-decisions";

const FORMATS = ["text", "markdown", "html", "csv", "json"] as const;

interface ReviewCommandOptions extends OutputOptions<(typeof FORMATS)[number]> {
  readonly days: number;
  readonly maxPages?: number;
  readonly within: number;
  readonly today?: string;
  readonly offline?: true;
}

/**
 * `email-security review`: lists the settings that a person should review, and records decisions. Exit codes: 0 nothing to review, 2 items
 * to review, 1 error.
 */
export function createReviewCommand(): Command {
  return addHelp(
    addOutputOptions(new Command("review"), FORMATS)
      .description("List entries and VIPs that need a review, with reasons, and record decisions")
      .argument("[file]", "Settings file (default: settings.yaml, or the only file in settings that no other includes)")
      .option("--days <number>", "Read this many days of the tenant's mail", parsePositiveInteger, 30)
      .option("--max-pages <number>", "Read at most this many pages of threats (default: 100)", parsePositiveInteger)
      .addOption(createWithinOption())
      .addOption(createTodayOption())
      .option("--offline", "Read only files, and send no request to the tenant")
      .action(wrapAction(runReviewCommand))
      .addCommand(createReviewKeepCommand())
      .addCommand(createReviewExtendCommand())
      .addCommand(createReviewDropCommand()),
    {
      examples: [
        { purpose: "List the settings of a tenant that need a review", line: "review settings/acme.yaml" },
        { purpose: "Write a report for an issue, as a monthly job does", line: "review --output review.md" },
        {
          purpose: "Check a quarter's mail, and write a page with filters",
          line: "review --days 90 --output review.html",
        },
      ],
      exits: {
        0: "There is nothing to review",
        1: "An error occurred",
        2: "There is something to review, or some of the mail could not be read",
      },
    },
  );
}

async function runReviewCommand(fileArgument: string | undefined, options: ReviewCommandOptions): Promise<ExitCode> {
  const { readSettings } = await import("../../settings-files/read-settings.js");
  const { buildReviewWorklist } = await import("./build-review-worklist.js");
  const { REVIEW_FORMAT } = await import("./review-schema.js");
  const outputs = parseOutputs(options, FORMATS);
  const file = fileArgument ?? (await findDefaultSettingsFile());
  const settings = readSettings(file, options.today === undefined ? {} : { today: options.today });
  const tenantData = options.offline
    ? undefined
    : await (await import("../../cli/query-tenant.js")).queryTenant(options);
  const review = buildReviewWorklist(settings, tenantData, { withinDays: options.within });
  const report = {
    format: REVIEW_FORMAT,
    file,
    ...(tenantData === undefined ? {} : { host: tenantData.host }),
    today: settings.today,
    ...review,
  } as const;
  await writeOutputs(outputs, await createReviewRenderers(report));
  // Without this warning, a job would treat unread mail as reviewed.
  if (review.missingEvidence.length > 0)
    console.error("warning: not all of the mail could be read; there may be more.");
  return review.items.length === 0 && review.missingEvidence.length === 0 ? EXIT.clean : EXIT.changes;
}

async function createReviewRenderers(
  report: import("./review-schema.js").ReviewReport,
): Promise<Renderers<(typeof FORMATS)[number]>> {
  const { renderReviewText } = await import("./review-text.js");
  const { renderReviewMarkdown } = await import("./review-markdown.js");
  const { renderReviewHtml } = await import("./review-html.js");
  const { renderReviewCsv } = await import("./review-csv.js");
  const { formatReviewJson } = await import("./review-schema.js");
  return {
    text: ({ columns }) => renderReviewText(report, columns),
    markdown: () => renderReviewMarkdown(report),
    html: () => renderReviewHtml(report),
    csv: () => renderReviewCsv(report),
    json: () => formatReviewJson(report),
  };
}
