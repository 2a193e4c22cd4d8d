import { existsSync } from "node:fs";
import { Command } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { type JournalOptions, journalPlace, withJournal } from "../../cli/journal-place";
import { TARGETS_FILE } from "../../cli/tenant-options";
import { withHelp } from "../../cli/verb-help";
import { ConfigurationError } from "../../client";
import { counted } from "../../render/words";
import type { RolloutRecord } from "../../rollout/journal/rollout-record";
import type { SkippedIn, Skipping } from "../../rollout/journal/skips";
import type { Rollouts } from "../../rollout/rollouts";
import type { SkipRequest } from "../../rollout/skipping/skip";
import { isPostgres } from "../../settings/postgres-address";
import { harmless, printable, quote } from "../../settings/text";
import { JOURNAL, lookOfTerminal, withRollouts } from "./open-rollouts";

interface SkipOptions extends JournalOptions {
  readonly reason?: string;
  readonly targets: string;
}

/** `rollout skip`: has rollouts go on without tenants, until somebody unskips them. It changes no tenant. */
export function skipCommand(): Command {
  return withHelp(
    withJournal(new Command("skip"), JOURNAL)
      .description("Skip tenants in all rollouts until `unskip`; without a name, list skipped tenants")
      .argument("[tenants...]", "The tenants; * stands for any characters")
      .option("--reason <text>", "Give the reason, which every plan, run and status shows")
      .option("--targets <file>", "Read the tenants from this file", TARGETS_FILE)
      .action(verb(skipVerb)),
    {
      examples: [
        { does: "go on without a tenant", line: 'rollout skip t003 --reason "its key is refused, OPS-412"' },
        { does: "who is skipped now, and why", line: "rollout skip" },
      ],
      exits: { 0: "it is remembered, or was before; or it was told", 1: "an error; nothing was changed" },
    },
  );
}

/** `rollout unskip`: has rollouts change tenants again that they skip. It changes no tenant. */
export function unskipCommand(): Command {
  return withHelp(
    withJournal(new Command("unskip"), JOURNAL)
      .description("Include skipped tenants in rollouts again, from the next run on")
      .argument("<tenants...>", "The tenants; * stands for any characters")
      .option("--targets <file>", "Read the tenants from this file", TARGETS_FILE)
      .action(verb(unskipVerb)),
    {
      examples: [
        { does: "change a tenant again", line: "rollout unskip t003" },
        { does: "change all tenants again", line: "rollout unskip '*'" },
      ],
      exits: { 0: "they are not skipped any more", 1: "an error; nothing was changed" },
    },
  );
}

async function skipVerb(names: readonly string[], options: SkipOptions): Promise<ExitCode> {
  const { reason, targets: file } = options;
  if (names.length === 0 && reason !== undefined) {
    throw new ConfigurationError("Name the tenants that are meant. Nothing was changed.");
  }
  await refuseNoJournal(options);
  return await withRollouts(options, async (rollouts) =>
    names.length === 0
      ? await list(rollouts, file)
      : await leaveOut(rollouts, reason, requestOf(file, names)),
  );
}

async function unskipVerb(names: readonly string[], options: SkipOptions): Promise<ExitCode> {
  await refuseNoJournal(options);
  return await withRollouts(
    options,
    async (rollouts) => await unskip(rollouts, requestOf(options.targets, names)),
  );
}

function requestOf(file: string, names: readonly string[]): SkipRequest {
  return { file, names, environment: process.env, nowMs: Date.now() };
}

/** In a journal that is made for it, nobody would look for who is skipped. */
async function refuseNoJournal({ database }: JournalOptions): Promise<void> {
  const { DEFAULT_JOURNAL } = await import("../../rollout/database/open-database.js");
  const place = journalPlace(database) ?? DEFAULT_JOURNAL;
  if (isPostgres(place) || existsSync(place)) return;
  throw new ConfigurationError(
    `There is no rollouts' journal at ${quote(place, 300)}, which would remember who is skipped. Nothing was changed. Name the one that the rollouts have (--database); before the first rollout, leave tenants out by \`rollout --except\`.`,
  );
}

async function list({ journal, commands }: Rollouts, file: string): Promise<ExitCode> {
  const { skippedTenant } = await import("../../rollout/journal/skips.js");
  const { currentSkips } = await import("../../rollout/skipping/skip.js");
  const { Paper } = await import("../../render/paper.js");
  const { given, say } = await import("../../render/words.js");
  const { skippedOf } = await import("../../rollout/report/report-text.js");
  const { reportOfSkipped } = await import("../../rollout/report/report-of.js");
  const skips = await currentSkips(journal, { file, environment: process.env });
  if (skips.length === 0) {
    console.log("Nobody is skipped.");
    return EXIT.clean;
  }
  const { color, width = 80 } = lookOfTerminal();
  const paper = new Paper(color, width);
  for (const [project, own] of Map.groupBy(skips, (one) => one.project)) {
    paper.text(say`Project ${given(project)}`);
    skippedOf(paper, { skipped: own.map((one) => reportOfSkipped(skippedTenant(one))) }, own.length);
    paper.gap();
  }
  process.stdout.write(paper.toString());
  const [first] = skips;
  console.log(printable(`To unskip one: \`${commands.unskip([first?.name ?? ""], file)}\``));
  return EXIT.clean;
}

async function leaveOut(
  rollouts: Rollouts,
  reason: string | undefined,
  request: SkipRequest,
): Promise<ExitCode> {
  const { skip } = await import("../../rollout/skipping/skip.js");
  const { skipText } = await import("../../rollout/skipping/without-skipped.js");
  const { journal, commands } = rollouts;
  const done = await skip(journal, reason, request);
  for (const one of done.fresh) say(`Skipped from now on: ${skipText(one)}.`);
  for (const one of done.already) {
    say(
      `Skipped already: ${skipText(one)}. That stands. To give another reason, unskip it first: \`${commands.unskip([one.name], request.file)}\``,
    );
  }
  await tellRollouts(rollouts, done);
  const names = [...done.fresh, ...done.already].map(({ name }) => name);
  if (done.fresh.length > 0) say(`To unskip: \`${commands.unskip(names, request.file)}\``);
  return EXIT.clean;
}

/** What it is to the rollouts that are not through. */
async function tellRollouts(rollouts: Rollouts, { rollouts: all }: Skipping): Promise<void> {
  for (const [id, own] of Map.groupBy(all, ({ rollout }) => rollout)) {
    const isHeld = await rollouts.isHeld(id);
    const { state } = await rollouts.journal.record(id);
    const parts = [...Map.groupBy(own, ({ state: one }) => wordsFor(one, isHeld))].map(
      ([words, some]) => `${some.map(({ tenant }) => quote(tenant)).join(", ")} ${words}`,
    );
    say(`In the rollout ${id}: ${parts.join("; ")}.`);
    if (isHeld) continue;
    const how = state === "waiting" ? "To let it go on" : "To go on with it";
    say(`${how}: \`${rollouts.commands.resume(id)}\``);
  }
}

function wordsFor(state: SkippedIn["state"], isHeld: boolean): string {
  switch (state) {
    case "skipped":
      return isHeld ? "is left out from now on" : "is left out when it goes on";
    case "running":
      return isHeld
        ? "is being changed right now, and is left to end; it is left out from then on"
        : "was being changed when it was interrupted; a worker that is still at it is left to end, else it is left out";
    default:
      return "is through already and stays as it is; the health of its wave goes on without it";
  }
}

async function unskip(rollouts: Rollouts, request: SkipRequest): Promise<ExitCode> {
  const { takeUp } = await import("../../rollout/skipping/skip.js");
  const { skipText } = await import("../../rollout/skipping/without-skipped.js");
  const { commands } = rollouts;
  const { skips, rollouts: open, declared: names } = await takeUp(rollouts.journal, request);
  for (const one of skips) say(`Not skipped any more: ${skipText(one)}.`);
  for (const [id, own] of Map.groupBy(open, ({ rollout }) => rollout)) {
    const { state } = await rollouts.journal.record(id);
    const when = (await rollouts.isHeld(id))
      ? "Its run goes on without; once it has ended"
      : state === "waiting"
        ? "It waits for a person, and the waves that it has begun go on without; once it is done"
        : "With what it was planned by";
    say(
      `The rollout ${id} left out ${counted(own.length, "tenant")} of ${own.length === 1 ? "it" : "them"}. ${when}: \`${commands.resume(id)}\``,
    );
  }
  if (names.length === 0) return EXIT.clean;
  say(
    `What came to others meanwhile comes to ${names.length === 1 ? "it" : "them"} with the next rollout: \`${commands.plan(request.file, names)}\``,
  );
  return EXIT.clean;
}

function say(line: string): void {
  console.log(fitted(harmless(line)));
}

/** Which tenants of a rollout are skipped now, whatever it says of them since it was planned. */
export async function tellSkipped(
  rollouts: Rollouts,
  record: RolloutRecord,
  what: string,
  told: ReadonlySet<string> = new Set(),
): Promise<void> {
  const { skipText } = await import("../../rollout/skipping/without-skipped.js");
  const { skipsOf } = await import("../../rollout/skipping/skip.js");
  const skips = (await skipsOf(rollouts.journal, record)).filter(({ name }) => !told.has(name));
  for (const one of skips.slice(0, 20)) console.error(harmless(`${what}: ${skipText(one)}.`));
  if (skips.length > 20) console.error(`… and ${skips.length - 20} more: \`email-security rollout skip\``);
}
