import { Command, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { createTodayOption } from "../../cli/date-options";
import { findDefaultSettingsFile } from "../../cli/default-settings-file";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { parsePositiveInteger } from "../../cli/option-parsers";
import { writeOutputFile } from "../../cli/output/write-outputs";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { lockFiles, lockWaitReporter } from "../../cli/write-file-changes";
import { omitUndefined } from "../../model/omit-undefined";
import { sanitizeLine, sanitizeMultiline } from "../../model/text";
import type { EvidenceSummary } from "../../plan/plan";
import { findRepository } from "../../settings-files/repository";
import { SUGGESTION_KINDS, type Suggestion, type SuggestionKind } from "./suggestion";

/**
 * `email-security suggest`: suggests changes to the settings files from the tenant's mail, with evidence and a patch. Exit codes: 0 no
 * suggestions or all written, 2 suggestions, 1 error.
 */
export function createSuggestCommand(): Command {
  return addHelp(
    new Command("suggest")
      .configureOutput({ outputError: (text, write) => write(sanitizeMultiline(text)) })
      .description("Suggest VIPs, denies and removals from the tenant's mail, with a patch of the settings files")
      .argument("[file]", "Settings file (default: settings.yaml, or the only file in settings that no other includes)")
      .option("--days <number>", "Read this many days of the tenant's mail", parsePositiveInteger, 30)
      .option("--max-pages <number>", "Read at most this many pages of threats (default: 100)", parsePositiveInteger)
      .addOption(new Option("--only <kind...>", "Select these kinds").choices(SUGGESTION_KINDS))
      .option("--limit <number>", "Show at most this many suggestions of a kind", parsePositiveInteger, 100)
      .addOption(createTodayOption())
      .option("--write", "Write the suggestions into the files")
      .option("--patch <file>", "Write the patch for `git apply` to a file, or - for stdout and nothing else")
      .action(wrapAction(runSuggestCommand)),
    {
      examples: [
        { purpose: "Show the suggestions and the patch", line: "suggest settings/acme.yaml" },
        {
          purpose: "Suggest only VIPs and denies, from the mail of the last week",
          line: "suggest --only vip deny --days 7",
        },
        { purpose: "Write the suggestions into the files", line: "suggest --write" },
      ],
      exits: {
        0: "There are no suggestions, or all were written",
        1: "An error occurred",
        2: "There are suggestions",
      },
    },
  );
}

const KIND_TITLES: Readonly<Record<SuggestionKind, string>> = {
  vip: "Targeted people who aren't VIPs",
  deny: "Phishing senders without a deny entry",
  "malicious-allow": "Allow entries for malicious senders",
  "expiring-allow": "Allow entries that expire soon",
  "unused-allow": "Allow entries without detected or reported mail",
  shadowed: "Redundant entries",
};

interface SuggestCommandOptions {
  readonly days: number;
  readonly maxPages?: number;
  readonly only?: readonly SuggestionKind[];
  readonly limit: number;
  readonly today?: string;
  readonly write?: true;
  readonly patch?: string;
}

async function runSuggestCommand(fileArgument: string | undefined, options: SuggestCommandOptions): Promise<ExitCode> {
  const file = fileArgument ?? (await findDefaultSettingsFile());
  const { editAndValidateFiles, formatGitPatch } = await import("../../settings-files/edit-files.js");
  const { createFileReader } = await import("../../settings-files/read-yaml-file.js");
  const result = await loadSuggestions(file, options);
  using locks = result.locks;
  const { suggestions: allSuggestions, summary, settings } = result;
  // Limit the suggestions: nobody reviews more in one pull request.
  const suggestions = SUGGESTION_KINDS.flatMap((kind) =>
    allSuggestions.filter((suggestion) => suggestion.kind === kind).slice(0, options.limit),
  );
  const edits = suggestions.flatMap((suggestion) => suggestion.edits);
  const changedFiles = editAndValidateFiles(settings, edits, createFileReader(file));
  const patch = formatGitPatch(changedFiles, findRepository(process.cwd()) ?? process.cwd());
  if (options.patch === "-") process.stdout.write(patch);
  else {
    if (options.patch !== undefined) writeOutputFile(options.patch, patch);
    console.log(wrapForTerminal(formatSuggestionReport(suggestions, allSuggestions, summary)));
    // The patch contains text from the files, so make it safe for the terminal. `--patch` writes it unchanged.
    if (patch !== "" && options.write === undefined && options.patch === undefined) {
      console.log(`\n${sanitizeMultiline(patch).trimEnd()}`);
    }
  }
  if (options.write === undefined) return suggestions.length === 0 ? EXIT.clean : EXIT.changes;
  const { writeSettingsChange: writeChange } = await import("../../gitops/write-settings-change.js");
  const { files: writtenFiles } = await writeChange(changedFiles, NO_MESSAGE, {}, locks);
  for (const name of writtenFiles) console.error(`Wrote ${sanitizeLine(name)}.`);
  return suggestions.length === allSuggestions.length ? EXIT.clean : EXIT.changes;
}

/** A placeholder: the change is never committed. */
const NO_MESSAGE = { title: "", body: "", branch: "" };

async function loadSuggestions(file: string, options: SuggestCommandOptions) {
  const { readSettings } = await import("../../settings-files/read-settings.js");
  const { suggest } = await import("./suggest.js");
  const { queryTenant } = await import("../../cli/query-tenant.js");
  const readOptions = omitUndefined({ today: options.today });
  let settings = readSettings(file, readOptions);
  const { observed, base } = await queryTenant(options);
  const locks = options.write === undefined ? undefined : await lockFiles(settings.files);
  // The service may have been slow, so read the files again under the locks.
  if (locks !== undefined) settings = readSettings(file, readOptions);
  await locks?.add(settings.files, lockWaitReporter);
  const suggestions = suggest(settings, observed, base).filter(({ kind }) => options.only?.includes(kind) ?? true);
  return { suggestions, summary: base.summary, settings, locks };
}

function formatSuggestionReport(
  suggestions: readonly Suggestion[],
  allSuggestions: readonly Suggestion[],
  summary: EvidenceSummary,
): string {
  const summaryText = `Checked ${summary.threats} threats and ${summary.reports} reports of the last ${summary.days} days.`;
  const sections = SUGGESTION_KINDS.flatMap((kind) => {
    const shownSuggestions = suggestions.filter((suggestion) => suggestion.kind === kind);
    if (shownSuggestions.length === 0) return [];
    const totalCount = allSuggestions.filter((suggestion) => suggestion.kind === kind).length;
    const countText =
      totalCount === shownSuggestions.length
        ? `${totalCount}`
        : `the first ${shownSuggestions.length} of ${totalCount}`;
    return [["", `${KIND_TITLES[kind]} (${countText})`, ...shownSuggestions.flatMap(formatSuggestion)].join("\n")];
  });
  const emptyLines = suggestions.length === 0 ? ["", "Nothing to suggest."] : [];
  return [summaryText, ...summary.missing.map(sanitizeLine), ...sections, ...emptyLines].join("\n");
}

function formatSuggestion({ action, evidence, place, edits }: Suggestion): string[] {
  const locationText = place === undefined ? "" : ` (${sanitizeLine(place.file)}:${place.line})`;
  const manualNote = edits.length === 0 ? " It isn't part of the patch." : "";
  return [`  - ${action}${locationText}`, `    ${evidence}${manualNote}`];
}
