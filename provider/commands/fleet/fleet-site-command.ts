import { join } from "node:path";
import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { quote, sanitizeMultiline } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { JournalRollouts } from "../../rollout/history/recent-rollouts";
import { addFleetReadOptions, type FleetReadOptions, readFleet, warnIfIncomplete } from "./read-fleet";

const FORMATS = ["text", "markdown", "json"] as const;

interface FleetSiteOptions extends FleetReadOptions, OutputOptions<(typeof FORMATS)[number]> {
  readonly evidence?: boolean;
}

/**
 * Builds `email-security fleet site`, which writes the status and settings of all tenants as pages. Exit codes: 0 written; 1 an error, or
 * incomplete data.
 */
export function createFleetSiteCommand(): Command {
  const command = new Command("site")
    .description("Write the status and settings of all tenants as a static site")
    .argument("<directory>", "Write the site into this directory, which also keeps a summary of each run");
  return addHelp(
    addOutputOptions(addFleetReadOptions(command), FORMATS)
      .option("--evidence", "Show how much mail each entry matched in the last 30 days, without naming anyone")
      .action(wrapAction(runFleetSiteCommand)),
    {
      examples: [
        {
          purpose: "Write a site for all tenants of tenants.yaml, to open in a browser from its directory",
          line: "fleet site site",
        },
        {
          purpose: "Write the site, and the status for an issue, as a nightly job does",
          line: "fleet site site --output fleet.md",
        },
      ],
      exits: {
        0: "The site is written, whatever the status of the tenants",
        1: "An error occurred; a tenant could not be read, and the site shows why; or a notice could not be delivered",
      },
    },
  );
}

async function runFleetSiteCommand(directory: string, options: FleetSiteOptions): Promise<ExitCode> {
  const outputs = parseOutputs(options, FORMATS);
  const { SiteBuilder } = await import("../../fleet/site/site-builder.js");
  const { mergeRecentRollouts, readRecentRollouts } = await import("../../rollout/history/recent-rollouts.js");
  // Before the first request, refuse a directory that can't be used or contains other files to overwrite.
  const builder = new SiteBuilder(directory, options.targets, options.evidence ?? false);
  const [unreadableRun, ...otherRuns] = builder.unreadableRuns;
  if (unreadableRun !== undefined) {
    const moreText = otherRuns.length === 0 ? "" : ` and ${formatCount(otherRuns.length, "other file")}`;
    console.error(
      sanitizeMultiline(
        `warning: ${quote(unreadableRun, 300)}${moreText} can't be read as an earlier run; the site's history omits it. Restore a copy, or remove it.`,
      ),
    );
  }
  const rollouts: JournalRollouts[] = [];
  const result = await readFleet(options, builder, async (database, scope) => {
    rollouts.push(await readRecentRollouts(database, scope));
  });
  const { status, unselectedStacks } = result;
  const recentRollouts = rollouts.length === 0 ? undefined : mergeRecentRollouts(rollouts);
  const { files, bytes } = builder.write(status, recentRollouts, unselectedStacks);
  const { renderStatusMarkdown } = await import("../../fleet/status/status-markdown.js");
  const { formatStatusJson } = await import("../../fleet/status/status-schema.js");
  const size = (bytes / 1_000_000).toFixed(1);
  const summary = `Wrote ${join(directory, "index.html")} and ${files - 1} files next to it, ${size} MB in total.`;
  await writeOutputs(outputs, {
    text: (target) => `${wrapForTerminal(sanitizeMultiline(summary), target)}\n`,
    markdown: () => renderStatusMarkdown(status),
    json: () => formatStatusJson(status),
  });
  return warnIfIncomplete(result) ? EXIT.error : EXIT.clean;
}
