import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { Command, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { createTodayOption } from "../../cli/date-options";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { wrapAction } from "../../cli/wrap-action";
import type { SourceProposals } from "../../gitops/source-proposals";
import type { SourceTarget } from "../../sources/source-targets";
import type { SyncedSource } from "../../sources/sync-outcome";

const FORMATS = ["text", "markdown", "json"] as const;

interface SyncCommandOptions extends OutputOptions<(typeof FORMATS)[number]> {
  readonly source?: readonly string[];
  readonly check?: true;
  readonly pr?: true;
  readonly today?: string;
}

/**
 * `email-security sync`: brings the entries of directories and feeds into generated settings files. Exit codes: 0 every file is up to date
 * or written; 1 an error, or a source that is blocked; 2 with `--check`, a file would change, or with `--pr`, a person has to do the rest.
 */
export function createSyncCommand(): Command {
  return addHelp(
    addOutputOptions(new Command("sync"), FORMATS)
      .description("Import the members of directories and the entries of feeds into settings files, for review")
      .argument(
        "[files...]",
        "Settings files, or directories that contain them (default: the directory settings, or settings.yaml)",
      )
      .option("--source <name...>", "Select only these sources")
      .option("--check", "Write nothing, and exit with 2 if a file would change")
      .addOption(
        new Option(
          "--pr",
          "Write nothing here, and propose the changes of each source as a pull or merge request, with gh or glab; if neither is installed, print the address to open one",
        ).conflicts("check"),
      )
      .addOption(createTodayOption())
      .action(wrapAction(runSyncCommand)),
    {
      examples: [
        { purpose: "Write the generated file of each source", line: "sync" },
        { purpose: "Check one source, and write nothing", line: "sync settings --source phish-feed --check" },
        {
          purpose: "Open or update one pull request per source, as a nightly job does",
          line: "sync --pr --output report.md",
        },
      ],
      exits: {
        0: "Every generated file is up to date, written, or proposed with --pr",
        1: "An error occurred, or a source is blocked; the files of other sources are written or proposed",
        2: "With --check: a generated file would change. With --pr: a person has to open a pull request or resolve a conflict",
      },
    },
  );
}

async function runSyncCommand(files: readonly string[], options: SyncCommandOptions): Promise<ExitCode> {
  const outputs = parseOutputs(options, FORMATS);
  const { syncSources } = await import("../../sources/sync-sources.js");
  const { SYNC_FORMAT } = await import("../../sources/sync-report.js");
  const today = options.today ?? new Date().toISOString().slice(0, 10);
  let proposals: SourceProposals | undefined;
  const readProposedTexts = async (targets: readonly SourceTarget[]): Promise<ReadonlyMap<string, string>> => {
    proposals = await (await import("../../gitops/source-proposals.js")).SourceProposals.fetch(targets);
    return await proposals.readTexts();
  };
  const results = await runWithInterrupts((signal) =>
    syncSources({
      files,
      names: options.source,
      environment: process.env,
      signal,
      today,
      ...(options.pr === undefined ? {} : { readProposedTexts }),
    }),
  );
  let sources = results.map((result) => result.report);
  let isComplete = true;
  if (proposals !== undefined) {
    const { proposeChanges } = await import("./propose-changes.js");
    const proposed = await proposeChanges(results, proposals);
    sources = [...proposed.reports];
    isComplete = proposed.isComplete;
  } else if (options.check === undefined) await writeGeneratedFiles(results);
  const report = { format: SYNC_FORMAT, today, sources } as const;
  await writeOutputs(outputs, {
    text: async ({ columns }) => (await import("./sync-text.js")).renderSyncText(report, columns),
    markdown: async () => (await import("./sync-markdown.js")).renderSyncMarkdown(report),
    json: async () => (await import("../../model/text.js")).formatJson(report),
  });
  if (report.sources.some(({ outcome }) => outcome === "blocked")) return EXIT.error;
  if (!isComplete) return EXIT.changes;
  const isChanged = results.some(({ change }) => change !== undefined);
  return isChanged && options.check !== undefined ? EXIT.changes : EXIT.clean;
}

async function writeGeneratedFiles(results: readonly SyncedSource[]): Promise<void> {
  const { writeSettingsChange: writeChange } = await import("../../gitops/write-settings-change.js");
  const changes = results.flatMap(({ change }) => change ?? []);
  for (const { file } of changes) mkdirSync(dirname(file), { recursive: true });
  await writeChange(changes, { title: "Sync sources", body: "", branch: "sync" });
}

/** Stops requests at an interrupt. Nothing is written then. */
async function runWithInterrupts<Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error("The sync was interrupted. Nothing was written."));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, abort);
  try {
    return await run(controller.signal);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, abort);
  }
}
