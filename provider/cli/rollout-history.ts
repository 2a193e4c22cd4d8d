import { Command } from "commander";
import type { Rollouts } from "../rollout/rollouts";
import { withoutUndefined } from "../settings/without-undefined";
import { EXIT, type ExitCode, verb, writeOutput } from "./command-line";
import { type JournalOptions, withJournal } from "./journal-place";
import { findRollout, JOURNAL, lookOfTerminal, withPastRollouts } from "./open-rollouts";
import { date, wholeNumber } from "./plan-options";
import { withHelp } from "./verb-help";

interface HistoryOptions extends JournalOptions {
  readonly tenant?: string;
  readonly since?: string;
  readonly before?: string;
  readonly limit: number;
  readonly json?: boolean;
}

interface ShowOptions extends JournalOptions {
  readonly tenant?: string;
  readonly all?: boolean;
  readonly markdown?: string;
  readonly json?: boolean;
}

type DiffOptions = Omit<ShowOptions, "tenant">;

/** `rollout history`, `rollout show` and `rollout diff`: what was, as the journal has it. They change nothing. */
export function historyCommands(): readonly Command[] {
  return [
    withHelp(
      withJournal(new Command("history"), JOURNAL)
        .description("tell which rollouts were: who, when, of which commit, what they changed")
        .option(
          "--tenant <name>",
          "only those that changed this tenant, or tried to, and what they changed there",
        )
        .option("--since <date>", "only those that began on this day (UTC) or later", date)
        .option("--before <date>", "only those that began before this day (UTC)", date)
        .option("--limit <number>", "how many, the newest first", wholeNumber, 20)
        .option("--json", "as JSON")
        .action(verb(history)),
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
      withJournal(new Command("show"), JOURNAL)
        .description("show a rollout's whole record: its report, who began it and went on, and every change")
        .argument("<id>", "the rollout, or the beginning of its id")
        .option("--tenant <name>", "the changes of this tenant alone")
        .option("--all", "print every change; without it, the 20 of the most tenants")
        .option("--markdown <file>", "write it as Markdown, at most 65,536 characters")
        .option("--json", "as JSON: always with every change")
        .action(verb(show)),
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
      withJournal(new Command("diff"), JOURNAL)
        .description(
          "compare what two rollouts declared, tenant by tenant, by the files that they were planned with",
        )
        .argument("<from>", "the one, or the beginning of its id")
        .argument("<to>", "the other: what it declares and the one did not is an addition")
        .option("--all", "print every difference; without it, the 20 of the most tenants")
        .option("--markdown <file>", "write it as Markdown, at most 65,536 characters")
        .option("--json", "as JSON: always with every difference")
        .action(verb(diff)),
      {
        examples: [
          { does: "what changed in between", line: "rollout diff 20261107-0800-1c20be 20261121-0800-7f3a91" },
          {
            does: "for a ticket",
            line: "rollout diff 20261107-0800-1c20be 20261121-0800-7f3a91 --markdown diff.md",
          },
        ],
        exits: { 0: "they declare the same of the same tenants", 1: "an error", 2: "they differ" },
      },
    ),
  ];
}

async function history(options: HistoryOptions): Promise<ExitCode> {
  const { tenant, since, before, limit, json } = options;
  return await withPastRollouts(options, async (rollouts) => {
    const { historyOf } = await import("../rollout/history/history.js");
    const request = {
      limit,
      ...withoutUndefined({ tenant, sinceMs: dayMs(since), beforeMs: dayMs(before) }),
    };
    const found = await historyOf(rollouts.journal, request, async (id) => await rollouts.isHeld(id));
    if (json === true) process.stdout.write(await asJson(found));
    else {
      const { historyText } = await import("../rollout/history/history-text.js");
      process.stdout.write(historyText(found, { ...lookOfTerminal(), ...withoutUndefined({ tenant }) }));
    }
    return EXIT.clean;
  });
}

function dayMs(day: string | undefined): number | undefined {
  return day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`);
}

async function show(id: string, options: ShowOptions): Promise<ExitCode> {
  const { tenant, all, markdown, json } = options;
  return await withPastRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "status");
    const report = await rollouts.report(record.id);
    const only = tenant === undefined ? undefined : await tenantsOf(rollouts, record.id, tenant);
    const { shownRollout } = await import("../rollout/history/shown.js");
    const { shownPage } = await import("../rollout/history/shown-page.js");
    const { toldMarkdown, toldText } = await import("../rollout/history/told-page.js");
    const shown = await shownRollout(rollouts.journal, report);
    const page = shownPage(shown, only);
    if (markdown !== undefined) {
      const { reportMarkdown } = await import("../rollout/report/report-markdown.js");
      const text = `${reportMarkdown(report, { limit: HALF })}\n${toldMarkdown(page, HALF - 1)}`;
      writeOutput(markdown, text, "record");
    }
    if (json === true) process.stdout.write(await asJson(shown));
    else {
      const { reportText } = await import("../rollout/report/report-text.js");
      const look = lookOfTerminal();
      process.stdout.write(`${reportText(report, look)}${toldText(page, { ...look, ...limitOf(all) })}`);
    }
    return EXIT.clean;
  });
}

async function diff(from: string, to: string, options: DiffOptions): Promise<ExitCode> {
  const { all, markdown, json } = options;
  return await withPastRollouts(options, async (rollouts) => {
    const [one, other] = [
      await findRollout(rollouts, from, "status"),
      await findRollout(rollouts, to, "status"),
    ];
    const { differenceOf } = await import("../rollout/history/difference.js");
    const { differencePage } = await import("../rollout/history/difference-page.js");
    const { toldMarkdown, toldText } = await import("../rollout/history/told-page.js");
    const difference = await differenceOf(rollouts.journal, one.id, other.id, rollouts.commands);
    const page = differencePage(difference);
    if (markdown !== undefined) writeOutput(markdown, toldMarkdown(page), "difference");
    if (json === true) process.stdout.write(await asJson(difference));
    else process.stdout.write(toldText(page, { ...lookOfTerminal(), ...limitOf(all) }));
    return difference.tenants.length === 0 ? EXIT.clean : EXIT.changes;
  });
}

/** @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) when the rollout has none such. */
async function tenantsOf(rollouts: Rollouts, id: string, name: string): Promise<ReadonlySet<string>> {
  const { selectTargets } = await import("../rollout/targets/select-targets.js");
  const targets = (await rollouts.journal.tenants(id)).map(({ target }) => target);
  return new Set(selectTargets(targets, { only: [name] }).map((target) => target.name));
}

async function asJson(
  value: Parameters<typeof import("../rollout/history/history-schema.js").historyJson>[0],
): Promise<string> {
  const { historyJson } = await import("../rollout/history/history-schema.js");
  return historyJson(value);
}

/** Of what a comment takes, a half each for the report and for what stands below it. */
const HALF = 32_768;

function limitOf(all: boolean | undefined): { readonly limit?: number } {
  return all === true ? {} : { limit: 20 };
}
