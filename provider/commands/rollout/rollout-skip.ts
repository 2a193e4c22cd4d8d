import { existsSync } from "node:fs";
import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addJournalOption, getJournalLocation, type JournalOptions } from "../../cli/journal-location";
import { DEFAULT_TARGETS_FILE } from "../../cli/tenant-options";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { ConfigurationError } from "../../client";
import { isPostgresUrl } from "../../model/postgres-url";
import { quote, sanitizeLine, sanitizeMultiline } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import type { SkippedTenantState, SkipResult } from "../../rollout/journal/tenant-skips";
import type { RolloutReport } from "../../rollout/model/rollout-report";
import type { Rollouts } from "../../rollout/rollouts";
import type { CurrentSkip, SkipRequest } from "../../rollout/skipping/add-skip";
import { getTerminalOptions, JOURNAL_HELP, runWithRollouts } from "./run-with-rollouts";

interface SkipOptions extends JournalOptions {
  readonly reason?: string;
  readonly targets: string;
}

export function createRolloutSkipCommand(): Command {
  return addHelp(
    addJournalOption(new Command("skip"), JOURNAL_HELP)
      .description("Skip tenants in all rollouts until `unskip`; without a name, list skipped tenants")
      .argument("[tenants...]", "The tenants' names; * matches any characters")
      .option("--reason <text>", "Give the reason (required to skip), which plans, reports and `fleet status` show")
      .option("--targets <file>", "Read the tenants from this file", DEFAULT_TARGETS_FILE)
      .action(wrapAction(runSkipCommand)),
    {
      examples: [
        {
          purpose: "Skip a tenant in all rollouts",
          line: 'rollout skip t003 --reason "its key is refused, OPS-412"',
        },
        { purpose: "List the skipped tenants, with the reasons", line: "rollout skip" },
      ],
      exits: {
        0: "The tenants are skipped, or were already; or the list is printed",
        1: "An error occurred; nothing was changed",
      },
    },
  );
}

export function createRolloutUnskipCommand(): Command {
  return addHelp(
    addJournalOption(new Command("unskip"), JOURNAL_HELP)
      .description("Include skipped tenants in rollouts again, from the next run on")
      .argument("<tenants...>", "The tenants' names; * matches any characters")
      .option("--targets <file>", "Read the tenants from this file", DEFAULT_TARGETS_FILE)
      .action(wrapAction(runUnskipCommand)),
    {
      examples: [
        { purpose: "Include a tenant again", line: "rollout unskip t003" },
        { purpose: "Include all tenants again", line: "rollout unskip '*'" },
      ],
      exits: { 0: "The tenants are no longer skipped", 1: "An error occurred; nothing was changed" },
    },
  );
}

async function runSkipCommand(names: readonly string[], options: SkipOptions): Promise<ExitCode> {
  const { reason, targets: file } = options;
  if (names.length === 0 && reason !== undefined) {
    throw new ConfigurationError("Specify the tenants. Nothing was changed.");
  }
  await assertJournalPresent(options);
  return await runWithRollouts(options, async (rollouts) =>
    names.length === 0
      ? await printSkips(rollouts, file)
      : await skipAndPrint(rollouts, reason, buildSkipRequest(file, names)),
  );
}

async function runUnskipCommand(names: readonly string[], options: SkipOptions): Promise<ExitCode> {
  await assertJournalPresent(options);
  return await runWithRollouts(
    options,
    async (rollouts) => await unskipAndPrint(rollouts, buildSkipRequest(options.targets, names)),
  );
}

function buildSkipRequest(file: string, names: readonly string[]): SkipRequest {
  return { file, names, environment: process.env, nowMs: Date.now() };
}

/** Refuses to create a default journal for a skip: nobody would look for skipped tenants there. */
async function assertJournalPresent({ database }: JournalOptions): Promise<void> {
  const { DEFAULT_JOURNAL } = await import("../../rollout/database/open-database.js");
  const journalUrl = getJournalLocation(database) ?? DEFAULT_JOURNAL;
  if (isPostgresUrl(journalUrl) || existsSync(journalUrl)) return;
  throw new ConfigurationError(
    `There is no rollout journal at ${quote(journalUrl, 300)} to record the skipped tenants. Nothing was changed. Set --database to the journal of the rollouts. Before the first rollout, leave tenants out with \`rollout --except\`.`,
  );
}

async function printSkips({ journal, commands }: Rollouts, file: string): Promise<ExitCode> {
  const { toSkippedTenant } = await import("../../rollout/journal/tenant-skips.js");
  const { listCurrentSkips } = await import("../../rollout/skipping/add-skip.js");
  const { TextPage } = await import("../../render/text-page.js");
  const { untrusted, safeText } = await import("../../render/safe-text.js");
  const { writeSkippedTenants } = await import("../../rollout/report/report-text.js");
  const { buildSkippedReport } = await import("../../rollout/report/build-rollout-report.js");
  const skips = await listCurrentSkips(journal, { file, environment: process.env });
  if (skips.length === 0) {
    console.log("No tenant is skipped.");
    return EXIT.clean;
  }
  const { color, width = 80 } = getTerminalOptions();
  const page = new TextPage(color, width);
  for (const [project, projectSkips] of Map.groupBy(skips, (tenantSkip) => tenantSkip.project)) {
    page.addText(safeText`Project ${untrusted(project)}`);
    writeSkippedTenants(
      page,
      { skipped: projectSkips.map((tenantSkip) => buildSkippedReport(toSkippedTenant(nameFormerTenant(tenantSkip)))) },
      projectSkips.length,
    );
    page.addBlankLine();
  }
  process.stdout.write(page.toString());
  const [first] = skips;
  console.log(sanitizeLine(`To unskip one: \`${commands.unskip([first?.name ?? ""], file)}\``));
  return EXIT.clean;
}

async function skipAndPrint(rollouts: Rollouts, reason: string | undefined, request: SkipRequest): Promise<ExitCode> {
  const { addSkip } = await import("../../rollout/skipping/add-skip.js");
  const { formatSkip } = await import("../../rollout/report/skipped-tenants.js");
  const { journal, commands } = rollouts;
  const result = await addSkip(journal, reason, request);
  for (const tenantSkip of result.added) printLine(`Skipped from now on: ${formatSkip(tenantSkip)}.`);
  for (const tenantSkip of result.existing) {
    printLine(
      `Already skipped: ${formatSkip(tenantSkip)}. Nothing changes. To give another reason, unskip it first: \`${commands.unskip([tenantSkip.name], request.file)}\``,
    );
  }
  await printAffectedRollouts(rollouts, result);
  const names = [...result.added, ...result.existing].map(({ name }) => name);
  if (result.added.length > 0) printLine(`To unskip: \`${commands.unskip(names, request.file)}\``);
  return EXIT.clean;
}

async function printAffectedRollouts(rollouts: Rollouts, { rollouts: tenantStates }: SkipResult): Promise<void> {
  for (const [id, rolloutTenants] of Map.groupBy(tenantStates, ({ rollout }) => rollout)) {
    const isLocked = await rollouts.isLocked(id);
    const { state } = await rollouts.journal.getRollout(id);
    const parts = [
      ...Map.groupBy(rolloutTenants, ({ state: tenantState }) => describeSkipState(tenantState, isLocked)),
    ].map(([stateText, tenants]) => `${tenants.map(({ tenant }) => quote(tenant)).join(", ")} ${stateText}`);
    printLine(`In the rollout ${id}: ${parts.join("; ")}.`);
    if (isLocked) continue;
    const lead = state === "waiting" ? "To let it continue" : "To continue it";
    printLine(`${lead}: \`${rollouts.commands.resume(id)}\``);
  }
}

function describeSkipState(state: SkippedTenantState["state"], isLocked: boolean): string {
  switch (state) {
    case "skipped":
      return isLocked ? "is left out from now on" : "is left out when the rollout is resumed";
    case "running":
      return isLocked
        ? "is being changed right now; this change is finished, and the tenant is left out afterwards"
        : "was being changed when it was interrupted; a worker that still changes it will finish, otherwise it is left out";
    default:
      return "is already done and stays unchanged; the health checks of its wave continue without it";
  }
}

async function unskipAndPrint(rollouts: Rollouts, request: SkipRequest): Promise<ExitCode> {
  const { endSkip } = await import("../../rollout/skipping/add-skip.js");
  const { formatSkip } = await import("../../rollout/report/skipped-tenants.js");
  const { commands } = rollouts;
  const { skips, rollouts: affectedTenants, declared: names } = await endSkip(rollouts.journal, request);
  for (const tenantSkip of skips) printLine(`No longer skipped: ${formatSkip(nameFormerTenant(tenantSkip))}.`);
  for (const [id, rolloutTenants] of Map.groupBy(affectedTenants, ({ rollout }) => rollout)) {
    const { state } = await rollouts.journal.getRollout(id);
    const nextText = (await rollouts.isLocked(id))
      ? "Its run continues without them. To include them once it has ended"
      : state === "waiting"
        ? "It waits for approval, and the started waves continue without them. To include them once it is done"
        : "To change them with the files that the rollout was planned with";
    printLine(
      `The rollout ${id} left out ${formatCount(rolloutTenants.length, "of these tenants", "of these tenants")}. ${nextText}: \`${commands.resume(id)}\``,
    );
  }
  if (names.length === 0) return EXIT.clean;
  printLine(
    `To apply the changes that it missed to ${names.length === 1 ? "it" : "them"}, start the next rollout: \`${commands.plan(request.file, names)}\``,
  );
  return EXIT.clean;
}

/** The targets file may have another tenant with the name of a former one. */
function nameFormerTenant(skip: CurrentSkip): CurrentSkip {
  return skip.isFormer === true ? { ...skip, name: `${skip.name} (former tenant, stack ${skip.stack})` } : skip;
}

function printLine(line: string): void {
  console.log(wrapForTerminal(sanitizeMultiline(line)));
}

/** Prints the tenants of a rollout that are skipped now, even if its plan predates the skip. */
export async function printSkippedTenants(
  rollouts: Rollouts,
  record: RolloutRecord,
  label: string,
  reported: RolloutReport["skipped"] = [],
): Promise<void> {
  const { formatSkip } = await import("../../rollout/report/skipped-tenants.js");
  const { listRolloutSkips } = await import("../../rollout/skipping/add-skip.js");
  const { createSkipLookup } = await import("../../rollout/journal/tenant-skips.js");
  const findReported = createSkipLookup(reported);
  const skips = (await listRolloutSkips(rollouts.journal, record)).filter((skip) => findReported(skip) === undefined);
  for (const tenantSkip of skips.slice(0, 20)) console.error(sanitizeMultiline(`${label}: ${formatSkip(tenantSkip)}.`));
  if (skips.length > 20) console.error(`… and ${skips.length - 20} more: \`email-security rollout skip\``);
}
