import { Command } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { type JournalOptions, withJournal } from "../../cli/journal-place";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { lookOf, writeOutputs } from "../../cli/output/write-outputs";
import { date, wholeNumber } from "../../cli/plan-options";
import { withHelp } from "../../cli/verb-help";
import type { Rollouts } from "../../rollout/rollouts";
import { withoutUndefined } from "../../settings/without-undefined";
import { findRollout, JOURNAL, withPastRollouts } from "./open-rollouts";

const HISTORY_FORMATS = ["text", "json"] as const;
const RECORD_FORMATS = ["text", "markdown", "json"] as const;

interface HistoryOptions extends JournalOptions, OutputOptions<(typeof HISTORY_FORMATS)[number]> {
  readonly tenant?: string;
  readonly since?: string;
  readonly before?: string;
  readonly limit: number;
}

interface ShowOptions extends JournalOptions, OutputOptions<(typeof RECORD_FORMATS)[number]> {
  readonly tenant?: string;
  readonly all?: boolean;
}

type DiffOptions = Omit<ShowOptions, "tenant">;

/** `rollout history`, `rollout show` and `rollout diff`: show past rollouts from the journal. Read-only. */
export function historyCommands(): readonly Command[] {
  return [
    withHelp(
      withOutputs(withJournal(new Command("history"), JOURNAL), HISTORY_FORMATS)
        .description("List past rollouts: who, when, of which commit, and their changes")
        .option("--tenant <name>", "List only rollouts of this tenant, with their changes there")
        .option("--since <date>", "List only rollouts that began on this day (UTC) or later", date)
        .option("--before <date>", "List only rollouts that began before this day (UTC)", date)
        .option("--limit <number>", "List this many, newest first", wholeNumber, 20)
        .action(verb(runHistoryCommand)),
      {
        examples: [
          { does: "the newest twenty", line: "rollout history" },
          {
            does: "what came to a tenant this month",
            line: "rollout history --tenant acme --since 2026-11-01",
          },
        ],
        exits: { 0: "it was told", 1: "an error" },
      },
    ),
    withHelp(
      withOutputs(withJournal(new Command("show"), JOURNAL), RECORD_FORMATS)
        .description("Show the whole record of a rollout: its report, who began and resumed it, and every change")
        .argument("<id>", "The rollout, or the beginning of its id")
        .option("--tenant <name>", "Show the changes of this tenant only")
        .option("--all", "Print every change; without it, the 20 of the most tenants")
        .action(verb(runShowCommand)),
      {
        examples: [
          { does: "the whole record", line: "rollout show 20261121-0800-7f3a91" },
          {
            does: "what it changed at one tenant",
            line: "rollout show 20261121-0800-7f3a91 --tenant acme --all",
          },
        ],
        exits: { 0: "it was shown", 1: "an error" },
      },
    ),
    withHelp(
      withOutputs(withJournal(new Command("diff"), JOURNAL), RECORD_FORMATS)
        .description("Compare what two rollouts declared, tenant by tenant, by the files that they were planned with")
        .argument("<from>", "The first rollout, or the beginning of its id")
        .argument("<to>", "The second rollout; what only this one declares is an addition")
        .option("--all", "Print every difference; without it, the 20 of the most tenants")
        .action(verb(runDiffCommand)),
      {
        examples: [
          { does: "what changed in between", line: "rollout diff 20261107-0800-1c20be 20261121-0800-7f3a91" },
          {
            does: "for a ticket",
            line: "rollout diff 20261107-0800-1c20be 20261121-0800-7f3a91 --output diff.md",
          },
        ],
        exits: { 0: "they declare the same of the same tenants", 1: "an error", 2: "they differ" },
      },
    ),
  ];
}

async function runHistoryCommand(options: HistoryOptions): Promise<ExitCode> {
  const { tenant, since, before, limit } = options;
  const outputs = readOutputs(options, HISTORY_FORMATS);
  return await withPastRollouts(options, async (rollouts) => {
    const { historyOf } = await import("../../rollout/history/history.js");
    const request = {
      limit,
      ...withoutUndefined({ tenant, sinceMs: parseDayMs(since), beforeMs: parseDayMs(before) }),
    };
    const historyResult = await historyOf(rollouts.journal, request, async (id) => await rollouts.isHeld(id));
    const { historyText } = await import("../../rollout/history/history-text.js");
    await writeOutputs(outputs, {
      text: (target) => historyText(historyResult, { ...lookOf(target), ...withoutUndefined({ tenant }) }),
      json: async () => await renderHistoryJson(historyResult),
    });
    return EXIT.clean;
  });
}

function parseDayMs(day: string | undefined): number | undefined {
  return day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`);
}

async function runShowCommand(id: string, options: ShowOptions): Promise<ExitCode> {
  const { tenant, all } = options;
  const outputs = readOutputs(options, RECORD_FORMATS);
  return await withPastRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "status");
    const report = await rollouts.report(record.id);
    const tenantNames = tenant === undefined ? undefined : await resolveTenantNames(rollouts, record.id, tenant);
    const { shownRollout } = await import("../../rollout/history/shown.js");
    const { shownPage } = await import("../../rollout/history/shown-page.js");
    const { toldMarkdown, toldText } = await import("../../rollout/history/told-page.js");
    const details = await shownRollout(rollouts.journal, report);
    const page = shownPage(details, tenantNames);
    const { reportMarkdown } = await import("../../rollout/report/report-markdown.js");
    const { reportText } = await import("../../rollout/report/report-text.js");
    await writeOutputs(outputs, {
      text: (target) => {
        const layout = lookOf(target);
        return `${reportText(report, layout)}${toldText(page, { ...layout, ...getTextLimit(all) })}`;
      },
      markdown: () =>
        `${reportMarkdown(report, { limit: HALF_MARKDOWN_BYTES })}\n${toldMarkdown(page, HALF_MARKDOWN_BYTES - 1)}`,
      json: async () => await renderHistoryJson(details),
    });
    return EXIT.clean;
  });
}

async function runDiffCommand(from: string, to: string, options: DiffOptions): Promise<ExitCode> {
  const { all } = options;
  const outputs = readOutputs(options, RECORD_FORMATS);
  return await withPastRollouts(options, async (rollouts) => {
    const [fromRollout, toRollout] = [
      await findRollout(rollouts, from, "status"),
      await findRollout(rollouts, to, "status"),
    ];
    const { differenceOf } = await import("../../rollout/history/difference.js");
    const { differencePage } = await import("../../rollout/history/difference-page.js");
    const { toldMarkdown, toldText } = await import("../../rollout/history/told-page.js");
    const difference = await differenceOf(rollouts.journal, fromRollout.id, toRollout.id, rollouts.commands);
    const page = differencePage(difference);
    await writeOutputs(outputs, {
      text: (target) => toldText(page, { ...lookOf(target), ...getTextLimit(all) }),
      markdown: () => toldMarkdown(page),
      json: async () => await renderHistoryJson(difference),
    });
    return difference.tenants.length === 0 ? EXIT.clean : EXIT.changes;
  });
}

/** @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) when the rollout has no such tenant. */
async function resolveTenantNames(rollouts: Rollouts, id: string, name: string): Promise<ReadonlySet<string>> {
  const { selectTargets } = await import("../../rollout/targets/select-targets.js");
  const targets = (await rollouts.journal.tenants(id)).map(({ target }) => target);
  return new Set(selectTargets(targets, { only: [name] }).map((target) => target.name));
}

async function renderHistoryJson(
  value: Parameters<typeof import("../../rollout/model/history-schema.js").historyJson>[0],
): Promise<string> {
  const { historyJson } = await import("../../rollout/model/history-schema.js");
  return historyJson(value);
}

/** Half of a comment's size limit: one half for the report, the other for the text below it. */
const HALF_MARKDOWN_BYTES = 32_768;

function getTextLimit(all: boolean | undefined): { readonly limit?: number } {
  return all === true ? {} : { limit: 20 };
}
