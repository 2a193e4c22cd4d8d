import { existsSync } from "node:fs";
import { Command, Option } from "commander";
import { ConfigurationError } from "../client";
import { FAIL_ON_GUARD } from "../plan/plan";
import { counted } from "../plan/render/words";
import { PlanningEndedError } from "../rollout/errors";
import type { RolloutRecord } from "../rollout/journal/rollout-record";
import type { PlannedRollout } from "../rollout/plan-rollout";
import type { MailOf } from "../rollout/planned/ask-mail";
import type { RolloutReport, TenantReport } from "../rollout/report/rollout-report";
import type { Rollouts } from "../rollout/rollouts";
import type { Selection } from "../rollout/targets/select-targets";
import { overTolerance } from "../rollout/targets/tolerance";
import type { Task } from "../rollout/tasks/task";
import { harmless } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { EXIT, type ExitCode, verb } from "./command-line";
import { type JournalOptions, withJournal } from "./journal-place";
import {
  findRollout,
  JOURNAL,
  ROLLOUT_FORMATS,
  type RolloutFormat,
  withKnownRollouts,
  withRollouts,
} from "./open-rollouts";
import { type Output, type OutputOptions, readOutputs, withOutputs } from "./output/outputs";
import { targetOf, writeOutputs } from "./output/write-outputs";
import { type FailOn, failOnOption, todayOption, wholeNumber } from "./plan-options";
import { historyCommands } from "./rollout-history";
import { pruneCommand } from "./rollout-prune";
import { skipCommand, unskipCommand } from "./rollout-skip";
import { type Selecting, selectionOf, TARGETS_FILE, withSelection } from "./tenant-options";
import { withHelp } from "./verb-help";

interface GivenRunOptions extends JournalOptions, OutputOptions<RolloutFormat> {
  readonly events?: boolean;
  readonly until?: string;
  readonly anyTime?: boolean;
  readonly lockWait?: number;
  readonly maxConcurrent?: number;
}

/** How a rollout is run. */
type RunOptions = GivenRunOptions & { readonly outputs: readonly Output<RolloutFormat>[] };

interface RolloutOptions extends GivenRunOptions, Consent, Selecting {
  readonly today?: string;
  readonly evidence?: (typeof EVIDENCE)[number];
  readonly alwaysRunEngine?: boolean;
  readonly onlyExpired?: boolean;
  readonly revertDrift?: boolean;
}

interface RollbackOptions extends GivenRunOptions, Consent, Selecting {
  readonly to?: string;
}

/** Whose mail is asked for a plan that is shown. */
const EVIDENCE = ["sample", "all", "none"] as const;

/** What a person said of a plan beforehand. */
interface Consent {
  readonly yes?: boolean;
  readonly planDigest?: string;
  readonly failOn?: FailOn;
}

/** How what changes tenants ends. */
const EXITS = {
  0: "all tenants are as declared, but for those that are skipped; or what --only-expired or --revert-drift is for is done",
  1: "an error, or a tenant failed",
  2: "something is left to do: no --yes, a gate, an interruption",
  3: "refused by a guard or by --fail-on, or not what was reviewed",
} as const;

const EXITS_OF_RESUMING = {
  ...EXITS,
  2: "something is left to do: another gate, an interruption",
  3: "refused by a guard: a tenant is not as it was when it was planned",
} as const;

const EXITS_OF_GOING_BACK = {
  ...EXITS,
  0: "all tenants hold what they held before, but for those that are skipped",
} as const;

/**
 * `email-security rollout`: one change to many tenants, in waves. Exit codes: 0 all tenants are as declared; 2 there is
 * something to do and no `--yes`, or it waits for a person; 3 refused by a guard, or not what was reviewed; 1 error, or a
 * tenant failed.
 */
export function rolloutCommand(): Command {
  const command = new Command("rollout")
    // What stands after a verb is the verb's: it has options of the same names.
    .enablePositionalOptions()
    .description("Plan a change for all tenants, and apply it in waves that stop by themselves")
    .argument("[file]", "The targets file", TARGETS_FILE)
    .option("--yes", "Apply the plan; without it, only show it")
    .option("--plan-digest <digest>", "Apply only the plan with this reviewed digest")
    .addOption(failOnOption())
    .addOption(todayOption())
    .addOption(
      new Option(
        "--evidence <whose>",
        "Show mail evidence in the Markdown and HTML of a plan: of 5 tenants (sample, the default), of each that changes, of none",
      ).choices(EVIDENCE),
    )
    .option("--always-run-engine", "Run the engine for every tenant, even without changes")
    .option(
      "--only-expired",
      "Remove expired entries and nothing else; other changes stay pending. In an unattended job, add --yes",
    )
    .option(
      "--revert-drift",
      "Revert console changes and nothing else, in tenants with `onDrift: revert` and no change waiting in their files. In an unattended job, add --yes",
    )
    .action(verb(rollout));
  withRunOptions(withSelection(command));
  command.addCommand(
    withHelp(
      withRunOptions(new Command("resume"))
        .description(
          "Resume a rollout past the gate where it waits, or after an interruption, a stop or failed tenants",
        )
        .argument("[id]", "The rollout, or the beginning of its id (default: the newest that can be resumed)")
        .action(verb(resume)),
      {
        examples: [
          { does: "the newest that can be resumed", line: "rollout resume" },
          {
            does: "and wait again after the wave early",
            line: "rollout resume 20261121-0800-7f3a91 --until early",
          },
        ],
        exits: EXITS_OF_RESUMING,
      },
    ),
  );
  command.addCommand(
    withHelp(
      withOutputs(withJournal(new Command("status"), JOURNAL), ROLLOUT_FORMATS)
        .description("Show the progress of a rollout, and the outcome of each tenant")
        .argument("[id]", "The rollout, or the beginning of its id (default: the newest)")
        .option("--list", "List all rollouts, a line each")
        .action(verb(status)),
      {
        examples: [
          { does: "the newest", line: "rollout status" },
          { does: "all of the journal", line: "rollout status --list" },
          { does: "for a script", line: "rollout status 20261121-0800-7f3a91 --format json" },
        ],
        exits: {
          0: "all tenants are as declared, but for those that are skipped",
          1: "an error, or a tenant failed",
          2: "it is under way, or waits",
        },
      },
    ),
  );
  command.addCommand(
    withHelp(
      withRunOptions(withSelection(new Command("rollback")))
        .description(
          "Roll back a rollout: return each tenant to what it held before, in the order of the waves, without waiting",
        )
        .argument(
          "[id]",
          "The rollout, or the beginning of its id (default: the newest that began a tenant, without those of --only-expired and --revert-drift; refused once it is rolled back)",
        )
        .option(
          "--to <revision>",
          "Return to the files of this git revision instead, with all waits of the waves",
        )
        .option("--yes", "Apply the plan; without it, only show it")
        .option("--plan-digest <digest>", "Apply only the plan with this reviewed digest")
        .addOption(failOnOption())
        .action(verb(rollback)),
      {
        examples: [
          { does: "see what would be rolled back", line: "rollout rollback" },
          { does: "roll it back", line: "rollout rollback 20261121-0800-7f3a91 --yes" },
          { does: "to the files of a revision", line: "rollout rollback --to v1.4.0 --yes" },
        ],
        exits: EXITS_OF_GOING_BACK,
      },
    ),
  );
  command.addCommand(
    withHelp(
      withJournal(new Command("stop"), JOURNAL)
        .description(
          "Stop a running rollout: finish the tenants under way and begin no more. `resume` continues it, `abandon` ends it for good",
        )
        .argument("[id]", "The rollout, or the beginning of its id (default: the newest that is running)")
        .action(verb(stop)),
      {
        examples: [
          { does: "the newest that is under way", line: "rollout stop" },
          { does: "a certain one", line: "rollout stop 20261121-0800-7f3a91" },
        ],
        exits: { 0: "it begins no more tenants", 1: "an error" },
      },
    ),
  );
  command.addCommand(
    withHelp(
      withJournal(new Command("abandon"), JOURNAL)
        .description(
          "Abandon a rollout that waits, was stopped or was interrupted: it is never finished, and blocks no other rollout. Its changes stay",
        )
        .argument(
          "[id]",
          "The rollout, or the beginning of its id (default: the newest that is not finished)",
        )
        .action(verb(abandon)),
      {
        examples: [
          { does: "the newest that is not finished", line: "rollout abandon" },
          { does: "a certain one", line: "rollout abandon 20261121-0800-7f3a91" },
        ],
        exits: { 0: "it is abandoned", 1: "an error; nothing was changed" },
      },
    ),
  );
  for (const one of [...historyCommands(), pruneCommand(), skipCommand(), unskipCommand()])
    command.addCommand(one);
  return withHelp(command, {
    examples: [
      {
        does: "show the plan for all tenants, and write it for a pull request; nothing is changed",
        line: "rollout tenants.yaml --output comment.md --output plan.html",
      },
      { does: "apply just what was reviewed", line: "rollout --yes --plan-digest r2-5d3c0f6a" },
      { does: "go on past a gate, or after an interruption", line: "rollout resume" },
    ],
    exits: EXITS,
  });
}

function withRunOptions(command: Command): Command {
  return withOutputs(withJournal(command, JOURNAL), ROLLOUT_FORMATS)
    .option("--until <wave>", "Wait for a person after this wave")
    .option("--any-time", "Run also in the hours that a wave's `not` excludes")
    .option("--max-concurrent <number>", "Change this many tenants at once, in each wave", wholeNumber)
    .option(
      "--lock-wait <seconds>",
      "Wait this long for a stack that another Pulumi run has locked (default: 600)",
      wholeNumber,
    )
    .option("--events", "Print each event as a line of JSON");
}

/** Reads where the options say that the plan or the report goes. */
function withReadOutputs<Options extends GivenRunOptions>(options: Options): Options & RunOptions {
  const stdoutUse = options.events === true ? "--events" : undefined;
  return { ...options, outputs: readOutputs(options, ROLLOUT_FORMATS, stdoutUse) };
}

async function rollout(file: string, given: RolloutOptions, command: Command): Promise<ExitCode> {
  refuseUnknownCommand(file, command);
  const options = withReadOutputs(given);
  const task = taskOf(options);
  const selection = task === "revert-drift" ? await selectionToRevert(file, options) : selectionOf(options);
  if (selection === undefined) return EXIT.clean;
  return await withRollouts(options, async (rollouts) => {
    const { maxConcurrent, today, alwaysRunEngine } = options;
    const mail = mailFor(options);
    const { findingText } = await import("../files/finding.js");
    const { PlanningProgress } = await import("./rollout-output.js");
    const progress = new PlanningProgress();
    const planned = await untilInterrupted(options, async (stopping) => {
      try {
        return await rollouts.plan({
          file,
          stopping,
          onProgress: (count, of) => progress.planned(count, of),
          onMail: (count, of) => progress.asked(count, of),
          ...selection,
          ...withoutUndefined({ maxConcurrent, today, alwaysRunEngine, mail, task }),
        });
      } finally {
        progress.end();
      }
    });
    for (const finding of planned.findings) console.error(harmless(findingText(finding)));
    return await decide(rollouts, planned, options);
  });
}

/** Whose mail is asked: where a plan is shown in full, and not begun. */
function mailFor({ evidence, yes, outputs }: RolloutOptions & RunOptions): MailOf | undefined {
  const isShown = yes !== true && outputs.some(tellsMail);
  if (evidence !== undefined && evidence !== "none" && !isShown) {
    throw new ConfigurationError(
      "--evidence is told in the Markdown or HTML of a plan: add --output plan.md or --output plan.html, and leave out --yes.",
    );
  }
  return evidence === "none" || !isShown ? undefined : (evidence ?? "sample");
}

/** Whether the plan's rendering in this format has what the mail says. */
function tellsMail({ format }: Output<RolloutFormat>): boolean {
  return format === "markdown" || format === "html";
}

/** What the rollout is for; undefined where it brings what the files say. */
function taskOf({
  onlyExpired,
  revertDrift,
  alwaysRunEngine,
  evidence = "none",
}: RolloutOptions): Task | undefined {
  if (onlyExpired === true && revertDrift === true) {
    throw new ConfigurationError(
      "--only-expired and --revert-drift are two rollouts: run the one, and then the other. Nothing was changed.",
    );
  }
  const task = onlyExpired === true ? "only-expired" : revertDrift === true ? "revert-drift" : undefined;
  if (task !== undefined && alwaysRunEngine === true) {
    throw new ConfigurationError(
      "--always-run-engine is for a rollout of all that the files say: leave it out beside --only-expired and --revert-drift. Nothing was changed.",
    );
  }
  if (task !== undefined && evidence !== "none") {
    throw new ConfigurationError(
      "--evidence is for the plan of all that the files say, and no mail is asked with --only-expired and --revert-drift: leave it out. Nothing was changed.",
    );
  }
  return task;
}

/** The tenants whose settings let a rollout revert drift; undefined where there is none, which is told. */
async function selectionToRevert(
  file: string,
  options: RolloutOptions & RunOptions,
): Promise<(Selection & { readonly among: readonly string[] }) | undefined> {
  const { mendedTenants } = await import("../rollout/tasks/mended-tenants.js");
  const { names, unread, of } = mendedTenants(file, selectionOf(options));
  const many = names.length - unread;
  const says = `${many} of ${counted(of, "tenant")} ${many === 1 ? "says" : "say"} \`onDrift: revert\` in the settings files`;
  const unknown = unread === 0 ? "" : `, and the files of ${unread} can't be read`;
  const rest = names.length === 0 ? ": nothing is reverted." : "; the others are left as they are.";
  console.error(`${says}${unknown}${rest}`);
  if (names.length > 0) return { ...selectionOf(options), among: names };
  // What an earlier run left there would be taken for what this one did.
  const { emptyReport } = await import("../rollout/report/empty-report.js");
  const { reportRenderers } = await import("./rollout-output.js");
  const { PLAN_MARK } = await import("../plan/render/markdown.js");
  await writeOutputs(unprinted(options), reportRenderers(emptyReport(file, "revert-drift", says), PLAN_MARK));
  return undefined;
}

/** A word that is no path and no file is a command that doesn't exist. */
function refuseUnknownCommand(file: string, command: Command): void {
  if (/[./\\]/.test(file) || existsSync(file)) return;
  command.error(`error: unknown command '${file}'`);
}

/** Shows a plan, and runs it when nothing keeps it from that and it is to be run. What is not begun is forgotten. */
async function decide(
  rollouts: Rollouts,
  planned: PlannedRollout,
  options: RunOptions & Consent,
): Promise<ExitCode> {
  const { id, digest } = planned;
  const { plannedRenderers } = await import("./rollout-output.js");
  const { withMail } = await import("../rollout/planned/told-whole.js");
  const report = withMail(await rollouts.report(id), planned.mail);
  const renderersOf = (shown: PlannedRollout) =>
    plannedRenderers(report, shown, async () => await rollouts.wholePlan(planned), rollouts.commands);
  // What an error refers to is seen, whatever standard output is for.
  const stream = options.outputs.some(isPrintedText) ? "stdout" : "stderr";
  process[stream].write(await renderersOf(planned).text(targetOf(stream)));
  const code = untilRefusal(report, options) ?? verdictOn(report, planned, options);
  if (code !== undefined) {
    const other = code === EXIT.changes ? await rollouts.inTheWay(id) : undefined;
    const refused = { ...planned, guards: [...planned.guards, ...failOnGuards(report, options.failOn)] };
    await writeOutputs(unprinted(options), renderersOf(refused), mailNote(options, planned.mail));
    await rollouts.forget(id);
    if (code === EXIT.changes) {
      console.error(`Nothing was changed. To apply just this: add --yes --plan-digest ${digest}`);
      if (other !== undefined) console.error(harmless(`But another rollout comes first. ${other}`));
    }
    return code;
  }
  try {
    return await run(rollouts, id, false, options);
  } catch (error) {
    // One that could not be begun is none. Where the journal fails too, the first failure is the one to tell.
    await rollouts.forgetUnbegun(id).catch(() => {});
    throw error;
  }
}

function isText(output: Output<RolloutFormat>): output is Output<"text"> {
  return output.format === "text";
}

function isPrintedText({ format, to }: Output<RolloutFormat>): boolean {
  return format === "text" && to === "stdout";
}

/** The outputs but the terminal's text, which was shown before. */
function unprinted({ outputs }: RunOptions): readonly Output<RolloutFormat>[] {
  return outputs.filter((output) => !isPrintedText(output) && output.to !== "stderr");
}

/** Says how many tenants' mail the files tell of. */
function mailNote({ outputs }: RunOptions, mail: PlannedRollout["mail"]): string {
  if (mail === undefined || mail.said.size === 0 || !outputs.some(tellsMail)) return "";
  return `, with what the mail of ${mail.said.size} of ${counted(mail.of, "tenant")} says`;
}

function untilRefusal({ waves }: RolloutReport, { until }: RunOptions): ExitCode | undefined {
  if (until === undefined || waves.some(({ name }) => name === until)) return undefined;
  const names = waves.map(({ name }) => name).join(", ");
  console.error(
    harmless(`error: there is no wave "${until}" for --until; there are ${names}. Nothing was changed.`),
  );
  return EXIT.error;
}

/** Why a planned rollout is not begun, as an exit code; undefined when it is. */
function verdictOn(
  { waves, tenants, counts }: RolloutReport,
  { guards, digest, tolerated, again = [] }: PlannedRollout,
  { yes, planDigest, failOn }: Consent,
): ExitCode | undefined {
  if (guards.length > 0) {
    console.error("error: refused by a guard, see above. Nothing was changed.");
    return EXIT.refused;
  }
  const failures = waves.map((wave) => ({ ...wave, failed: wave.counts.failed }));
  const over = overTolerance(failures, tolerated).map((name) => {
    const wave = waves.find((one) => one.name === name);
    const [failed, of] =
      wave === undefined ? [counts.failed, tenants.length] : [wave.counts.failed, wave.tenants];
    return `${failed} of ${of} in ${wave === undefined ? name : `the wave ${name}`}, which tolerates ${wave?.tolerated ?? tolerated}`;
  });
  const mend = "Mend them, or leave them out with --except.";
  if (over.length > 0) {
    console.error(
      harmless(
        `error: too many tenants can't be planned: ${over.join("; ")}. Nothing was changed. ${mend} [ERR_ROLLOUT_PLAN]`,
      ),
    );
    return EXIT.error;
  }
  const alarming = alarmingTenants(tenants, failOn).length;
  if (alarming > 0) {
    console.error(
      `error: the changes of ${counted(alarming, "tenant")} are refused by --fail-on ${failOn}. Nothing was changed. ${FIX_RISKS}`,
    );
    return EXIT.refused;
  }
  if (planDigest !== undefined && planDigest.trim() !== digest) {
    const isOld = /^r1-/.test(planDigest.trim());
    const old = isOld
      ? "The digest that was given is one of an earlier release, which held for less than a plan shows. "
      : "";
    console.error(
      `error: ${old}this is not what was reviewed: the plan's digest is ${digest} now. The targets, the settings files or a tenant changed since. Nothing was changed. [ERR_ROLLOUT_DIGEST]`,
    );
    return EXIT.refused;
  }
  const [taken] = again;
  if (taken !== undefined && yes === true && planDigest === undefined) {
    console.error(
      harmless(
        `error: ${again.map(({ by }) => by).join(" and ")} rolled back what this plan would do again (${taken.what.slice(0, 3).join(", ")}${taken.what.length > 3 ? ", …" : ""}; see above). Nothing was changed. Take it out of the settings files; or, if it is meant after all, ask for it by name: --yes --plan-digest ${digest} [ERR_ROLLED_BACK]`,
      ),
    );
    return EXIT.refused;
  }
  if (yes === true) return undefined;
  if (counts.pending > 0) return EXIT.changes;
  if (counts.failed === 0) return EXIT.clean;
  console.error(
    `error: ${counts.failed} of ${tenants.length} tenants can't be planned, see above. Nothing was changed. ${mend} [ERR_ROLLOUT_PLAN]`,
  );
  return EXIT.error;
}

const FIX_RISKS = "Fix what is reported; where it is meant, say why in the entry's `acceptRisk`.";

function alarmingTenants(
  tenants: readonly TenantReport[],
  failOn: FailOn | undefined,
): readonly TenantReport[] {
  if (failOn === undefined) return [];
  return tenants.filter(
    ({ alarms: { danger, warning } }) => danger > 0 || (failOn === "warning" && warning > 0),
  );
}

/** What `--fail-on` refuses, for the files that a person reads. */
function failOnGuards({ tenants }: RolloutReport, failOn: FailOn | undefined): PlannedRollout["guards"] {
  const message = `Changes of this tenant are refused by --fail-on ${failOn}. ${FIX_RISKS}`;
  return alarmingTenants(tenants, failOn).map(({ name }) => ({
    tenant: name,
    guard: { code: FAIL_ON_GUARD, message },
  }));
}

async function resume(id: string | undefined, given: GivenRunOptions): Promise<ExitCode> {
  const options = withReadOutputs(given);
  return await withKnownRollouts(options, async (rollouts) => {
    const { isOpen } = await import("../rollout/which-rollout.js");
    const record = await findRollout(rollouts, id, "resume");
    const [newest] = await rollouts.journal.records();
    const isOlder = id === undefined && newest !== undefined && newest.id !== record.id;
    const from = record.state === "waiting" ? ` It passes where it waits: ${record.reason ?? ""}` : "";
    console.error(
      harmless(
        `Resuming ${rollouts.fullName(record)}${isOlder ? ", which is not the newest" : ""}.${from.trimEnd()}`,
      ),
    );
    const changed = await rollouts.changedFiles(record);
    if (changed.length > 0) {
      const shown = changed.slice(0, 5).join(", ");
      const anew = `\`${rollouts.commands.plan(record.spec.source, [], record.spec.task)}\``;
      console.error(
        harmless(
          `Changed since the rollout was planned, and not what it goes on with: ${shown}${changed.length > 5 ? ", …" : ""}. To apply them, ${
            isOpen(record)
              ? `abandon it (\`${rollouts.commands.abandon(record.id)}\`), and begin a new one (${anew})`
              : `begin a new one: ${anew}`
          }.`,
        ),
      );
    }
    await tellSkipped(rollouts, record, "Goes on without");
    // A gate that is reached after this was read is not approved: nobody has seen it.
    return await run(rollouts, record.id, record.state !== "waiting", options);
  });
}

/** Which tenants of a rollout are skipped now, whatever it says of them since it was planned. */
async function tellSkipped(
  rollouts: Rollouts,
  record: RolloutRecord,
  what: string,
  told: ReadonlySet<string> = new Set(),
): Promise<void> {
  const { skipText } = await import("../rollout/skipping/without-skipped.js");
  const { skipsOf } = await import("../rollout/skipping/skip.js");
  const skips = (await skipsOf(rollouts.journal, record)).filter(({ name }) => !told.has(name));
  for (const one of skips.slice(0, 20)) console.error(harmless(`${what}: ${skipText(one)}.`));
  if (skips.length > 20) console.error(`… and ${skips.length - 20} more: \`email-security rollout skip\``);
}

async function run(rollouts: Rollouts, id: string, retry: boolean, options: RunOptions): Promise<ExitCode> {
  const { until, anyTime, maxConcurrent, lockWait } = options;
  const lockWaitMs = lockWait === undefined ? undefined : lockWait * 1_000;
  const { RolloutScreen, reportRenderers } = await import("./rollout-output.js");
  const stopping = new AbortController();
  const aborted = new AbortController();
  let screen: InstanceType<typeof RolloutScreen> | undefined;
  const say = (line: string): void =>
    screen === undefined ? console.error(harmless(line)) : screen.say(line);
  const interrupt = (): void => {
    if (stopping.signal.aborted) {
      say(`Stopping at once. What was under way is done again by \`${rollouts.commands.resume(id)}\`.`);
      aborted.abort();
    } else {
      say("Finishing the tenants that are under way, and beginning no more. Once more to stop at once.");
      stopping.abort();
    }
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  try {
    const report = await rollouts.run(id, {
      retry,
      log: (line) => {
        if (screen === undefined) console.error(harmless(line));
        else screen.say(line);
      },
      onBegun: async (begun) => {
        screen = new RolloutScreen(begun, options, rollouts.capacity(maxConcurrent));
        if (rollouts.isForWorkers) {
          screen.say(
            "Workers change the tenants: `email-security worker`, with the same database, on any machine.",
          );
        }
      },
      onEvent: (event) => screen?.happened(event),
      stopping: stopping.signal,
      aborted: aborted.signal,
      ...withoutUndefined({ until, anyTime, maxConcurrent, lockWaitMs }),
    });
    screen?.close();
    // Events tell what the report would.
    const outputs = options.outputs.filter(({ to }) => to !== "stderr");
    await writeOutputs(outputs, reportRenderers(report));
    return codeOf(report);
  } finally {
    screen?.close();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

/**
 * Ctrl-C ends the planning, which has written nothing; once more ends the process. One that ends by itself before all tenants
 * are planned has its reports too.
 */
async function untilInterrupted<T>(
  options: RunOptions,
  work: (stopping: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopping = new AbortController();
  const interrupt = (): void => {
    if (stopping.signal.aborted) process.exit(EXIT.error);
    stopping.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  try {
    return await work(stopping.signal);
  } catch (error) {
    if (error instanceof PlanningEndedError) {
      const { reportRenderers } = await import("./rollout-output.js");
      const { PLAN_MARK } = await import("../plan/render/markdown.js");
      await writeOutputs(unprinted(options), reportRenderers(error.report, PLAN_MARK));
    }
    throw error;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

function codeOf({ state, counts }: RolloutReport): ExitCode {
  if (state === "waiting" || state === "running") return EXIT.changes;
  return state === "done" && counts.failed === 0 ? EXIT.clean : EXIT.error;
}

interface StatusOptions extends JournalOptions, OutputOptions<RolloutFormat> {
  readonly list?: boolean;
}

async function status(id: string | undefined, options: StatusOptions): Promise<ExitCode> {
  const outputs = readOutputs(options, ROLLOUT_FORMATS);
  if (options.list === true && !outputs.every(isText)) {
    throw new ConfigurationError(
      "--list is text alone. `rollout history --format json` lists rollouts for a script.",
    );
  }
  return await withKnownRollouts(options, async (rollouts) => {
    const { printedList, reportRenderers } = await import("./rollout-output.js");
    const { isOpen } = await import("../rollout/which-rollout.js");
    const records = await rollouts.journal.records();
    if (options.list === true) {
      const { talliesOf } = await import("../rollout/journal/across-rollouts.js");
      const tallies = await talliesOf(rollouts.journal.database);
      const listed = records.map(async (record) => ({
        record,
        tally: tallies.get(record.id),
        isHeld: record.state === "running" && (await rollouts.isHeld(record.id)),
      }));
      const text = printedList(await Promise.all(listed));
      await writeOutputs(outputs.filter(isText), { text: () => text });
      return EXIT.clean;
    }
    const record = await findRollout(rollouts, id, "status");
    const report = await rollouts.report(record.id);
    await writeOutputs(outputs, reportRenderers(report));
    const told = new Set((report.skipped ?? []).map(({ name }) => name));
    await tellSkipped(rollouts, record, "Skipped now", told);
    // Who looks at the newest is not to miss one that waits behind it.
    const others = id === undefined ? records.filter((one) => one.id !== record.id && isOpen(one)) : [];
    for (const other of others.slice(0, 5)) {
      console.error(
        harmless(`Not through either: \`${rollouts.commands.status(other.id)}\` (${other.state})`),
      );
    }
    if (others.length > 5) console.error(`… and ${others.length - 5} more that are not through.`);
    return codeOf(report);
  });
}

async function rollback(id: string | undefined, given: RollbackOptions, command: Command): Promise<ExitCode> {
  const options = withReadOutputs(given);
  const before = ["onlyExpired", "revertDrift"].filter(
    (name) => command.parent?.getOptionValueSource(name) === "cli",
  );
  if (before.length > 0) {
    throw new ConfigurationError(
      "--only-expired and --revert-drift are of rollouts of their own, and a rollback does neither: leave them out. Nothing was changed.",
    );
  }
  return await withKnownRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "rollback");
    console.error(harmless(`Rolling back ${rollouts.fullName(record)}.`));
    const { to, maxConcurrent } = options;
    const { filesAt } = await import("../rollout/files-at-revision.js");
    const files =
      to === undefined ? undefined : { files: await filesAt(to), name: `the files of the revision ${to}` };
    const planned = await untilInterrupted(
      options,
      async (stopping) =>
        await rollouts.planRollback(record.id, files, {
          stopping,
          ...selectionOf(options),
          ...withoutUndefined({ maxConcurrent }),
        }),
    );
    return await decide(rollouts, planned, options);
  });
}

async function stop(id: string | undefined, options: JournalOptions): Promise<ExitCode> {
  return await withRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "stop");
    await rollouts.stop(record.id);
    console.error(
      `The rollout ${record.id} begins no more tenants; those that it began are finished. How far that is: \`${rollouts.commands.status(record.id)}\``,
    );
    return EXIT.clean;
  });
}

async function abandon(id: string | undefined, options: JournalOptions): Promise<ExitCode> {
  return await withRollouts(options, async (rollouts) => {
    if (id !== undefined && (await abandonElsewhere(rollouts, id))) return EXIT.clean;
    const record = await findRollout(rollouts, id, "abandon");
    await rollouts.abandon(record.id);
    const { advice, counts } = await rollouts.report(record.id);
    const next = advice
      .map(({ why, command }) => ` ${why}${command === undefined ? "" : ` \`${command}\``}`)
      .join("");
    console.error(
      harmless(
        `The rollout ${record.id} is abandoned. What it did stays: ${counts.done} changed, ${counts.failed} failed, ${counts.pending + counts.released + counts.running} not finished.${next}`,
      ),
    );
    return EXIT.clean;
  });
}

/** Abandons a rollout that this journal doesn't have, where its full id is given. */
async function abandonElsewhere(rollouts: Rollouts, id: string): Promise<boolean> {
  if ((await rollouts.journal.lastEvent(id)) !== undefined) return false;
  const unknown = await rollouts.abandonElsewhere(id, TARGETS_FILE);
  if (unknown === undefined) return false;
  const left =
    unknown === 0
      ? ""
      : ` What it did to ${counted(unknown, "stack")} is not known here: the next rollout looks at their waves as if it had changed them.`;
  console.error(`The rollout ${id}, of another journal, is abandoned.${left} What it did stays.`);
  return true;
}
