import { existsSync } from "node:fs";
import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode, wrapAction } from "../../cli/command-line";
import { addJournalOption, getJournalLocation, type JournalOptions } from "../../cli/journal-location";
import { DEFAULT_TARGETS_FILE } from "../../cli/tenant-options";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { ConfigurationError } from "../../client";
import { formatCount } from "../../render/safe-text";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import type { SkippedTenantState, SkipResult } from "../../rollout/journal/skips";
import type { RolloutReport } from "../../rollout/model/rollout-report";
import type { Rollouts } from "../../rollout/rollouts";
import type { SkipRequest } from "../../rollout/skipping/skip";
import { isPostgresUrl } from "../../settings/postgres-url";
import { quote, sanitizeLine, sanitizeMultiline } from "../../settings/text";
import { getTerminalOptions, JOURNAL_HELP, runWithRollouts } from "./open-rollouts";

interface SkipOptions extends JournalOptions {
  readonly reason?: string;
  readonly targets: string;
}

/** `rollout skip`: makes rollouts skip tenants until somebody runs `rollout unskip`. Changes no tenant. */
export function createRolloutSkipCommand(): Command {
  return addHelp(
    addJournalOption(new Command("skip"), JOURNAL_HELP)
      .description("Skip tenants in all rollouts until `unskip`; without a name, list skipped tenants")
      .argument("[tenants...]", "The tenants; * stands for any characters")
      .option("--reason <text>", "Give the reason, which every plan, run and status shows")
      .option("--targets <file>", "Read the tenants from this file", DEFAULT_TARGETS_FILE)
      .action(wrapAction(runSkipCommand)),
    {
      examples: [
        { does: "go on without a tenant", line: 'rollout skip t003 --reason "its key is refused, OPS-412"' },
        { does: "who is skipped now, and why", line: "rollout skip" },
      ],
      exits: {
        0: "The tenants are skipped, or were before; or the list is printed",
        1: "An error occurred; nothing was changed",
      },
    },
  );
}

/** `rollout unskip`: makes rollouts include skipped tenants again. Changes no tenant. */
export function createRolloutUnskipCommand(): Command {
  return addHelp(
    addJournalOption(new Command("unskip"), JOURNAL_HELP)
      .description("Include skipped tenants in rollouts again, from the next run on")
      .argument("<tenants...>", "The tenants; * stands for any characters")
      .option("--targets <file>", "Read the tenants from this file", DEFAULT_TARGETS_FILE)
      .action(wrapAction(runUnskipCommand)),
    {
      examples: [
        { does: "change a tenant again", line: "rollout unskip t003" },
        { does: "change all tenants again", line: "rollout unskip '*'" },
      ],
      exits: { 0: "The tenants are no longer skipped", 1: "An error occurred; nothing was changed" },
    },
  );
}

async function runSkipCommand(names: readonly string[], options: SkipOptions): Promise<ExitCode> {
  const { reason, targets: file } = options;
  if (names.length === 0 && reason !== undefined) {
    throw new ConfigurationError("Name the tenants that are meant. Nothing was changed.");
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
    `There is no rollouts' journal at ${quote(journalUrl, 300)}, which would remember who is skipped. Nothing was changed. Name the one that the rollouts have (--database); before the first rollout, leave tenants out by \`rollout --except\`.`,
  );
}

async function printSkips({ journal, commands }: Rollouts, file: string): Promise<ExitCode> {
  const { toSkippedTenant } = await import("../../rollout/journal/skips.js");
  const { listCurrentSkips } = await import("../../rollout/skipping/skip.js");
  const { TextPage } = await import("../../render/text-page.js");
  const { untrusted, safeText } = await import("../../render/safe-text.js");
  const { writeSkippedTenants } = await import("../../rollout/report/report-text.js");
  const { buildSkippedReport } = await import("../../rollout/report/build-rollout-report.js");
  const skips = await listCurrentSkips(journal, { file, environment: process.env });
  if (skips.length === 0) {
    console.log("Nobody is skipped.");
    return EXIT.clean;
  }
  const { color, width = 80 } = getTerminalOptions();
  const page = new TextPage(color, width);
  for (const [project, projectSkips] of Map.groupBy(skips, (tenantSkip) => tenantSkip.project)) {
    page.addText(safeText`Project ${untrusted(project)}`);
    writeSkippedTenants(
      page,
      { skipped: projectSkips.map((tenantSkip) => buildSkippedReport(toSkippedTenant(tenantSkip))) },
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
  const { addSkip } = await import("../../rollout/skipping/skip.js");
  const { formatSkip } = await import("../../rollout/report/skipped-tenants.js");
  const { journal, commands } = rollouts;
  const result = await addSkip(journal, reason, request);
  for (const tenantSkip of result.added) printLine(`Skipped from now on: ${formatSkip(tenantSkip)}.`);
  for (const tenantSkip of result.existing) {
    printLine(
      `Skipped already: ${formatSkip(tenantSkip)}. That stands. To give another reason, unskip it first: \`${commands.unskip([tenantSkip.name], request.file)}\``,
    );
  }
  await printAffectedRollouts(rollouts, result);
  const names = [...result.added, ...result.existing].map(({ name }) => name);
  if (result.added.length > 0) printLine(`To unskip: \`${commands.unskip(names, request.file)}\``);
  return EXIT.clean;
}

/** Prints the effect on unfinished rollouts. */
async function printAffectedRollouts(rollouts: Rollouts, { rollouts: tenantStates }: SkipResult): Promise<void> {
  for (const [id, rolloutTenants] of Map.groupBy(tenantStates, ({ rollout }) => rollout)) {
    const isLocked = await rollouts.isLocked(id);
    const { state } = await rollouts.journal.getRollout(id);
    const parts = [
      ...Map.groupBy(rolloutTenants, ({ state: tenantState }) => describeSkipState(tenantState, isLocked)),
    ].map(([stateText, tenants]) => `${tenants.map(({ tenant }) => quote(tenant)).join(", ")} ${stateText}`);
    printLine(`In the rollout ${id}: ${parts.join("; ")}.`);
    if (isLocked) continue;
    const lead = state === "waiting" ? "To let it go on" : "To go on with it";
    printLine(`${lead}: \`${rollouts.commands.resume(id)}\``);
  }
}

function describeSkipState(state: SkippedTenantState["state"], isLocked: boolean): string {
  switch (state) {
    case "skipped":
      return isLocked ? "is left out from now on" : "is left out when it goes on";
    case "running":
      return isLocked
        ? "is being changed right now, and is left to end; it is left out from then on"
        : "was being changed when it was interrupted; a worker that is still at it is left to end, else it is left out";
    default:
      return "is through already and stays as it is; the health of its wave goes on without it";
  }
}

async function unskipAndPrint(rollouts: Rollouts, request: SkipRequest): Promise<ExitCode> {
  const { endSkip } = await import("../../rollout/skipping/skip.js");
  const { formatSkip } = await import("../../rollout/report/skipped-tenants.js");
  const { commands } = rollouts;
  const { skips, rollouts: affectedTenants, declared: names } = await endSkip(rollouts.journal, request);
  for (const tenantSkip of skips) printLine(`Not skipped any more: ${formatSkip(tenantSkip)}.`);
  for (const [id, rolloutTenants] of Map.groupBy(affectedTenants, ({ rollout }) => rollout)) {
    const { state } = await rollouts.journal.getRollout(id);
    const nextText = (await rollouts.isLocked(id))
      ? "Its run goes on without; once it has ended"
      : state === "waiting"
        ? "It waits for a person, and the waves that it has begun go on without; once it is done"
        : "With what it was planned by";
    printLine(
      `The rollout ${id} left out ${formatCount(rolloutTenants.length, "tenant")} of ${rolloutTenants.length === 1 ? "it" : "them"}. ${nextText}: \`${commands.resume(id)}\``,
    );
  }
  if (names.length === 0) return EXIT.clean;
  printLine(
    `What came to others meanwhile comes to ${names.length === 1 ? "it" : "them"} with the next rollout: \`${commands.plan(request.file, names)}\``,
  );
  return EXIT.clean;
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
  const { listRolloutSkips } = await import("../../rollout/skipping/skip.js");
  const { createSkipLookup } = await import("../../rollout/journal/skips.js");
  const findReported = createSkipLookup(reported);
  const skips = (await listRolloutSkips(rollouts.journal, record)).filter((skip) => findReported(skip) === undefined);
  for (const tenantSkip of skips.slice(0, 20)) console.error(sanitizeMultiline(`${label}: ${formatSkip(tenantSkip)}.`));
  if (skips.length > 20) console.error(`… and ${skips.length - 20} more: \`email-security rollout skip\``);
}
