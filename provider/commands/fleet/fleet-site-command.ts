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

interface Options extends FleetReading, OutputOptions<(typeof FORMATS)[number]> {
  readonly evidence?: boolean;
}

/**
 * `email-security fleet site`: how each tenant stands, and all that it has, as pages. Exit codes: 0 it was written, 1 an error, or not all
 * could be read.
 */
export function siteCommand(): Command {
  const command = new Command("site")
    .description("Write the status and settings of all tenants as a static site")
    .argument("<folder>", "Directory of the site, which keeps a summary of each run");
  return withHelp(
    withOutputs(withReading(command), FORMATS)
      .option("--evidence", "Count the mail that each entry matched in the last 30 days, without names")
      .action(verb(site)),
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

async function site(folder: string, options: Options): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const { SiteMaker } = await import("../../fleet/site/make-site.js");
  const { mergeRecentRollouts, recentRollouts } = await import("../../rollout/history/recent-rollouts.js");
  // Before anybody is asked: a folder of others is refused.
  const maker = new SiteMaker(folder, options.targets, options.evidence ?? false);
  const [broken, ...others] = maker.brokenRuns;
  if (broken !== undefined) {
    const more = others.length === 0 ? "" : ` and ${counted(others.length, "other file")}`;
    console.error(
      harmless(
        `warning: ${quote(broken, 300)}${more} can't be read as an earlier run; the site's history leaves it out. Bring back a copy, or remove it.`,
      ),
    );
  }
  const rollouts: RecentRollouts[] = [];
  const read = await readFleet(options, maker, async (database, whose) => {
    rollouts.push(await recentRollouts(database, whose));
  });
  const { status } = read;
  const { files, bytes } = maker.write(
    status,
    rollouts.length === 0 ? undefined : mergeRecentRollouts(rollouts),
  );
  const { statusMarkdown } = await import("../../fleet/status/status-markdown.js");
  const { statusJson } = await import("../../fleet/status/status-schema.js");
  const size = (bytes / 1_000_000).toFixed(1);
  const written = `Written: ${join(folder, "index.html")}, with ${files - 1} files beside it, ${size} MB in all.`;
  await writeOutputs(outputs, {
    text: (target) => `${fitted(harmless(written), target)}\n`,
    markdown: () => statusMarkdown(status),
    json: () => statusJson(status),
  });
  return warnOfUnread(read) ? EXIT.error : EXIT.clean;
}
