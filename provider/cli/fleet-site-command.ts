import { join } from "node:path";
import { Command } from "commander";
import { counted } from "../plan/render/words";
import type { RolloutsTold } from "../rollout/journal/rollouts-told";
import { harmless, quote } from "../settings/text";
import { EXIT, type ExitCode, verb, writeOutput } from "./command-line";
import { fitted } from "./fitted";
import { type FleetReading, readFleet, warnOfUnread, withReading } from "./read-fleet";
import { withHelp } from "./verb-help";

interface Options extends FleetReading {
  readonly evidence?: boolean;
  readonly json?: string;
  readonly markdown?: string;
}

/**
 * `email-security fleet site`: how each tenant stands, and all that it has, as pages. Exit codes: 0 it was written, 1 an error, or not all
 * could be read.
 */
export function siteCommand(): Command {
  const command = new Command("site")
    .description("write how all tenants stand, and all that they have, as a static site")
    .argument("<folder>", "where it is; it keeps a little of each run, to tell what changes over time");
  return withHelp(
    withReading(command)
      .option(
        "--evidence",
        "read the mail of each tenant too, of the last 30 days, and tell beside each entry what it says; counts, and nobody's name",
      )
      .option("--json <file>", "also write the status as JSON, by the same reading")
      .option("--markdown <file>", "the same as Markdown, for an issue")
      .action(verb(site)),
    {
      examples: [
        {
          does: "a site of all tenants of tenants.yaml, which a browser opens from its folder",
          line: "fleet site site",
        },
        {
          does: "the same, and the status for an issue, as a nightly job does",
          line: "fleet site site --markdown fleet.md",
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
  const { SiteMaker } = await import("../fleet/site/make-site.js");
  const { rolloutsTold } = await import("../rollout/journal/rollouts-told.js");
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
  const { mergeRolloutsTold } = await import("../rollout/journal/merge-journals.js");
  const rollouts: RolloutsTold[] = [];
  const read = await readFleet(options, maker, async (database, whose) => {
    rollouts.push(await rolloutsTold(database, whose));
  });
  const { status } = read;
  const { files, bytes } = maker.write(
    status,
    rollouts.length === 0 ? undefined : mergeRolloutsTold(rollouts),
  );
  const { statusMarkdown } = await import("../fleet/status/status-markdown.js");
  const { statusJson } = await import("../fleet/status/status-schema.js");
  const { json, markdown } = options;
  if (markdown !== undefined) writeOutput(markdown, statusMarkdown(status), "status");
  if (json !== undefined) writeOutput(json, statusJson(status), "status");
  const size = (bytes / 1_000_000).toFixed(1);
  console.log(
    fitted(
      harmless(
        `Written: ${join(folder, "index.html")}, with ${files - 1} files beside it, ${size} MB in all.`,
      ),
    ),
  );
  return warnOfUnread(read) ? EXIT.error : EXIT.clean;
}
