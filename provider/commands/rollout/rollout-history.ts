import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addJournalOption, type JournalOptions } from "../../cli/journal-location";
import { parseDate, parsePositiveInteger } from "../../cli/option-parsers";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { getRenderOptions, writeOutputs } from "../../cli/output/write-outputs";
import { wrapAction } from "../../cli/wrap-action";
import { omitUndefined } from "../../model/omit-undefined";
import { quote, sanitizeLine } from "../../model/text";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import type { Rollouts } from "../../rollout/rollouts";
import { findRollout, JOURNAL_HELP, runWithPastRollouts } from "./run-with-rollouts";

const HISTORY_FORMATS = ["text", "json"] as const;
const RECORD_FORMATS = ["text", "markdown", "json"] as const;

interface HistoryOptions extends JournalOptions, OutputOptions<(typeof HISTORY_FORMATS)[number]> {
  readonly tenant?: string;
  readonly since?: string;
  readonly before?: string;
  readonly limit: number;
}

interface HistoryShowOptions extends JournalOptions, OutputOptions<(typeof RECORD_FORMATS)[number]> {
  readonly tenant?: string;
  readonly all?: boolean;
}

type DiffOptions = Omit<HistoryShowOptions, "tenant">;

export function createRolloutHistoryCommands(): readonly Command[] {
  return [
    addHelp(
      addOutputOptions(addJournalOption(new Command("history"), JOURNAL_HELP), HISTORY_FORMATS)
        .description("List past rollouts: who ran them, when, at which commit, and their changes")
        .option("--tenant <name>", "List only rollouts of this tenant, with its changes")
        .option("--since <date>", "List only rollouts that started on this day (UTC) or later", parseDate)
        .option("--before <date>", "List only rollouts that started before this day (UTC)", parseDate)
        .option("--limit <number>", "List at most this many, newest first", parsePositiveInteger, 20)
        .action(wrapAction(runHistoryCommand)),
      {
        examples: [
          { purpose: "List the newest 20 rollouts", line: "rollout history" },
          {
            purpose: "List the changes of a tenant in this month",
            line: "rollout history --tenant acme --since 2026-11-01",
          },
        ],
        exits: { 0: "The history is printed", 1: "An error occurred" },
      },
    ),
    addHelp(
      addOutputOptions(addJournalOption(new Command("show"), JOURNAL_HELP), RECORD_FORMATS)
        .description("Show the whole record of a rollout: its report, who started and resumed it, and every change")
        .argument("<id>", "The rollout's id, or the beginning of it")
        .option("--tenant <name>", "Show only the changes of this tenant")
        .option("--all", "Print every change; without it, the 20 that affect the most tenants")
        .action(wrapAction(runShowCommand)),
      {
        examples: [
          { purpose: "Show the whole record", line: "rollout show 20261121-0800-7f3a91" },
          {
            purpose: "Show the changes of one tenant",
            line: "rollout show 20261121-0800-7f3a91 --tenant acme --all",
          },
        ],
        exits: { 0: "The rollout is printed", 1: "An error occurred" },
      },
    ),
    addHelp(
      addOutputOptions(addJournalOption(new Command("diff"), JOURNAL_HELP), RECORD_FORMATS)
        .description("Compare what two rollouts declared for each tenant, based on the files they were planned with")
        .argument("<from>", "The first rollout's id, or the beginning of it")
        .argument("<to>", "The second rollout's id; declarations that only it has are shown as additions")
        .option("--all", "Print every difference; without it, the 20 that affect the most tenants")
        .action(wrapAction(runDiffCommand)),
      {
        examples: [
          { purpose: "Show what changed in between", line: "rollout diff 20261107-0800-1c20be 20261121-0800-7f3a91" },
          {
            purpose: "Write the differences for a ticket",
            line: "rollout diff 20261107-0800-1c20be 20261121-0800-7f3a91 --output diff.md",
          },
        ],
        exits: {
          0: "Both rollouts declare the same for the same tenants",
          1: "An error occurred",
          2: "The rollouts differ",
        },
      },
    ),
  ];
}

async function runHistoryCommand(options: HistoryOptions): Promise<ExitCode> {
  const { tenant, since, before, limit } = options;
  const outputs = parseOutputs(options, HISTORY_FORMATS);
  return await runWithPastRollouts(options, async (rollouts) => {
    const { readRolloutHistory } = await import("../../rollout/history/rollout-history.js");
    const request = {
      limit,
      ...omitUndefined({ tenant, sinceMs: parseDayMs(since), beforeMs: parseDayMs(before) }),
    };
    const historyResult = await readRolloutHistory(
      rollouts.journal,
      request,
      async (id) => await rollouts.isLocked(id),
    );
    const { renderHistoryText } = await import("../../rollout/history/history-text.js");
    await writeOutputs(outputs, {
      text: (target) => renderHistoryText(historyResult, { ...getRenderOptions(target), ...omitUndefined({ tenant }) }),
      json: async () => await renderHistoryJson(historyResult),
    });
    return EXIT.clean;
  });
}

function parseDayMs(day: string | undefined): number | undefined {
  return day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`);
}

async function runShowCommand(id: string, options: HistoryShowOptions): Promise<ExitCode> {
  const { tenant, all } = options;
  const outputs = parseOutputs(options, RECORD_FORMATS);
  return await runWithPastRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "status");
    const report = await rollouts.report(record.id);
    const tenantNames = tenant === undefined ? undefined : await resolveTenantNames(rollouts, record, tenant);
    const { readRolloutDetails } = await import("../../rollout/history/rollout-details.js");
    const { buildRolloutPage } = await import("../../rollout/history/rollout-page.js");
    const { renderPageMarkdown, renderPageText } = await import("../../rollout/history/history-page-view.js");
    const details = await readRolloutDetails(rollouts.journal, report);
    const page = buildRolloutPage(details, tenantNames);
    const { renderReportMarkdown } = await import("../../rollout/report/report-markdown.js");
    const { renderReportText } = await import("../../rollout/report/report-text.js");
    await writeOutputs(outputs, {
      text: (target) => {
        const layout = getRenderOptions(target);
        return `${renderReportText(report, layout)}${renderPageText(page, { ...layout, ...getTextLimit(all) })}`;
      },
      markdown: () =>
        `${renderReportMarkdown(report, { limit: HALF_MARKDOWN_BYTES })}\n${renderPageMarkdown(page, HALF_MARKDOWN_BYTES - 1)}`,
      json: async () => await renderHistoryJson(details),
    });
    return EXIT.clean;
  });
}

async function runDiffCommand(from: string, to: string, options: DiffOptions): Promise<ExitCode> {
  const { all } = options;
  const outputs = parseOutputs(options, RECORD_FORMATS);
  return await runWithPastRollouts(options, async (rollouts) => {
    const [fromRollout, toRollout] = [
      await findRollout(rollouts, from, "status"),
      await findRollout(rollouts, to, "status"),
    ];
    const { buildRolloutDifference } = await import("../../rollout/history/rollout-difference.js");
    const { buildDifferencePage } = await import("../../rollout/history/difference-page.js");
    const { renderPageMarkdown, renderPageText } = await import("../../rollout/history/history-page-view.js");
    const difference = await buildRolloutDifference(rollouts.journal, fromRollout.id, toRollout.id, rollouts.commands);
    const page = buildDifferencePage(difference);
    await writeOutputs(outputs, {
      text: (target) => renderPageText(page, { ...getRenderOptions(target), ...getTextLimit(all) }),
      markdown: () => renderPageMarkdown(page),
      json: async () => await renderHistoryJson(difference),
    });
    return difference.tenants.length === 0 ? EXIT.clean : EXIT.changes;
  });
}

/**
 * Returns the names that a tenant had in a rollout. A tenant keeps its stack if its name changes.
 *
 * @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) when the rollout has no such tenant.
 */
async function resolveTenantNames(
  { journal }: Rollouts,
  { id, spec }: RolloutRecord,
  name: string,
): Promise<ReadonlySet<string>> {
  const { selectTargets } = await import("../../rollout/targets/select-targets.js");
  const { findStackByName, readCurrentTenantNames } = await import("../../rollout/targets/current-tenant-names.js");
  const targets = (await journal.listTenants(id)).map(({ target }) => target);
  const present = readCurrentTenantNames(spec.source);
  const presentStack = present?.project === spec.project ? findStackByName(present, name) : undefined;
  const renamed = targets.find(({ stack }) => stack === presentStack);
  if (renamed !== undefined && renamed.name !== name)
    console.error(sanitizeLine(`note: ${quote(name)} was called ${quote(renamed.name)} in this rollout.`));
  const selected = renamed === undefined ? selectTargets(targets, { only: [name] }) : [renamed];
  return new Set(selected.map((target) => target.name));
}

async function renderHistoryJson(
  value: Parameters<typeof import("../../rollout/model/history-schema.js").formatHistoryJson>[0],
): Promise<string> {
  const { formatHistoryJson } = await import("../../rollout/model/history-schema.js");
  return formatHistoryJson(value);
}

/** Half of a comment's size limit: one half for the report, the other for the text below it. */
const HALF_MARKDOWN_BYTES = 32_768;

function getTextLimit(all: boolean | undefined): { readonly limit?: number } {
  return all === true ? {} : { limit: 20 };
}
