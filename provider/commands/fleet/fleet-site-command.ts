import { join } from "node:path";
import { Command } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { writeOutputs } from "../../cli/output/write-outputs";
import { withHelp } from "../../cli/verb-help";
import { counted } from "../../render/words";
import type { RecentRollouts } from "../../rollout/history/recent-rollouts";
import { harmless, quote } from "../../settings/text";
import { type FleetReading, readFleet, warnOfUnread, withReading } from "./read-fleet";

const FORMATS = ["text", "markdown", "json"] as const;

interface FleetSiteOptions extends FleetReading, OutputOptions<(typeof FORMATS)[number]> {
  readonly evidence?: boolean;
}

/**
 * Builds `email-security fleet site`, which writes the status and settings of all tenants as pages. Exit codes: 0 written; 1 an error, or
 * incomplete data.
 */
export function siteCommand(): Command {
  const command = new Command("site")
    .description("Write the status and settings of all tenants as a static site")
    .argument("<folder>", "Directory of the site, which keeps a summary of each run");
  return withHelp(
    withOutputs(withReading(command), FORMATS)
      .option("--evidence", "Count the mail that each entry matched in the last 30 days, without names")
      .action(verb(runFleetSiteCommand)),
    {
      examples: [
        {
          does: "a site of all tenants of tenants.yaml, which a browser opens from its folder",
          line: "fleet site site",
        },
        {
          does: "the same, and the status for an issue, as a nightly job does",
          line: "fleet site site --output fleet.md",
        },
      ],
      exits: {
        0: "the site was written, however the tenants stand",
        1: "an error; or not all could be read, and the site says of each why; or not all could be told",
      },
    },
  );
}

async function runFleetSiteCommand(directory: string, options: FleetSiteOptions): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const { SiteMaker } = await import("../../fleet/site/make-site.js");
  const { mergeRecentRollouts, recentRollouts } = await import("../../rollout/history/recent-rollouts.js");
  // Before the first request, refuse a directory that can't be used or contains other files to overwrite.
  const builder = new SiteMaker(directory, options.targets, options.evidence ?? false);
  const [unreadableRun, ...otherRuns] = builder.brokenRuns;
  if (unreadableRun !== undefined) {
    const moreText = otherRuns.length === 0 ? "" : ` and ${counted(otherRuns.length, "other file")}`;
    console.error(
      harmless(
        `warning: ${quote(unreadableRun, 300)}${moreText} can't be read as an earlier run; the site's history leaves it out. Bring back a copy, or remove it.`,
      ),
    );
  }
  const rollouts: RecentRollouts[] = [];
  const result = await readFleet(options, builder, async (database, scope) => {
    rollouts.push(await recentRollouts(database, scope));
  });
  const { status } = result;
  const { files, bytes } = builder.write(status, rollouts.length === 0 ? undefined : mergeRecentRollouts(rollouts));
  const { statusMarkdown } = await import("../../fleet/status/status-markdown.js");
  const { statusJson } = await import("../../fleet/status/status-schema.js");
  const size = (bytes / 1_000_000).toFixed(1);
  const summary = `Written: ${join(directory, "index.html")}, with ${files - 1} files beside it, ${size} MB in all.`;
  await writeOutputs(outputs, {
    text: (target) => `${fitted(harmless(summary), target)}\n`,
    markdown: () => statusMarkdown(status),
    json: () => statusJson(status),
  });
  return warnOfUnread(result) ? EXIT.error : EXIT.clean;
}
