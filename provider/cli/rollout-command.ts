import { Command } from "commander";
import { ConfigurationError } from "../client";
import { RolloutError } from "../rollout/errors";
import type { RolloutRecord } from "../rollout/journal/journal";
import type { PlannedRollout } from "../rollout/plan-rollout";
import type { RolloutReport, TenantReport } from "../rollout/report/rollout-report";
import type { Rollouts } from "../rollout/rollouts";
import { harmless } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { EXIT, type ExitCode, verb } from "./command-line";
import { date, type FailOn, failOnOption, wholeNumber } from "./plan-options";
import type { RolloutOutput } from "./rollout-output";

/** Where the journal is, for every verb. */
interface JournalOptions {
  readonly database?: string;
}

interface RunOptions extends JournalOptions, RolloutOutput {
  readonly until?: string;
  readonly lockWait?: number;
  readonly maxConcurrent?: number;
}

interface RolloutOptions extends RunOptions, Consent {
  readonly only?: readonly string[];
  readonly label?: readonly string[];
  readonly today?: string;
  readonly alwaysRunEngine?: boolean;
  readonly resume?: string | true;
}

interface RollbackOptions extends RunOptions, Consent {
  readonly to?: string;
}

/** What a person said of a plan beforehand. */
interface Consent {
  readonly yes?: boolean;
  readonly planDigest?: string;
  readonly failOn?: FailOn;
}

const DEFAULT_FILE = "tenants.yaml";

/**
 * `email-security rollout`: one change to many tenants, in waves. Exit codes: 0 all tenants are as declared; 2 there is
 * something to do and no `--yes`, or it waits for a person; 3 refused by a guard, or not what was reviewed; 1 error, or a
 * tenant failed.
 */
export function rolloutCommand(): Command {
  const command = new Command("rollout")
    // What stands after a verb is the verb's: it has options of the same names.
    .enablePositionalOptions()
    .description(
      "plan a change for all tenants, and apply it in waves that stop by themselves (exit code 0: all as declared, 2: something is left to do, 3: refused, 1: error or a tenant failed)",
    )
    .argument("[file]", "the targets file", DEFAULT_FILE)
    .option("--only <name...>", "only these tenants; * stands for any characters")
    .option("--label <condition...>", "only tenants with ring=canary, ring=canary,beta, or !ring=canary")
    .option("--yes", "apply it; without it, the plan is only shown")
    .option("--plan-digest <digest>", "the digest that was reviewed; refuses when anything moved since")
    .addOption(failOnOption())
    .option("--today <date>", "the day (UTC) by which `expires` is judged", date)
    .option("--always-run-engine", "run the engine for every tenant, even where nothing is to be done")
    .option("--resume [id]", "go on with a rollout that was interrupted or stopped (default: the newest)")
    .action(verb(rollout));
  withRunOptions(command);
  command.addCommand(
    withRunOptions(new Command("continue"))
      .description("go on with a rollout that waits at a gate or after the wave that --until named")
      .argument("[id]", "the rollout, or the beginning of its id (default: the newest that waits)")
      .action(verb(async (id: string | undefined, options: RunOptions) => await goOn(id, options, WAITING))),
  );
  command.addCommand(
    withJournal(new Command("status"))
      .description("show how far a rollout is, and what became of each tenant")
      .argument("[id]", "the rollout, or the beginning of its id (default: the newest)")
      .option("--list", "list all rollouts, a line each")
      .option("--json [file]", "as JSON, printed or into a file")
      .option("--markdown <file>", "write the report as Markdown")
      .option("--html <file>", "write the report as one page")
      .action(verb(status)),
  );
  command.addCommand(
    withRunOptions(new Command("rollback"))
      .description("take a rollout back: the files of the one before it, through the same waves")
      .argument(
        "[id]",
        "the rollout, or the beginning of its id (default: the newest that changed something)",
      )
      .option("--to <revision>", "the files of this revision of git instead")
      .option("--yes", "apply it; without it, the plan is only shown")
      .option("--plan-digest <digest>", "the digest that was reviewed; refuses when anything moved since")
      .addOption(failOnOption())
      .action(verb(rollback)),
  );
  command.addCommand(
    withJournal(new Command("stop"))
      .description(
        "have a rollout begin nothing more; one that waits, was stopped or was interrupted is given up",
      )
      .argument("[id]", "the rollout, or the beginning of its id (default: the newest that is not through)")
      .action(verb(stop)),
  );
  return command;
}

function withJournal(command: Command): Command {
  return command.option(
    "--database <place>",
    "the journal: a SQLite file, or postgres://… for many machines (default: EMAIL_SECURITY_DATABASE, else .email-security/rollouts.db)",
  );
}

function withRunOptions(command: Command): Command {
  return withJournal(command)
    .option("--until <wave>", "wait for a person after this wave")
    .option("--max-concurrent <number>", "how many tenants at once, in each wave", wholeNumber)
    .option(
      "--lock-wait <seconds>",
      "how long to wait for a stack that another run of Pulumi holds (default: 600)",
      wholeNumber,
    )
    .option("--events", "print a line of JSON for each thing that happens")
    .option("--markdown <file>", "write the report as Markdown, at most 65,536 characters")
    .option("--html <file>", "write the report as one page")
    .option("--json <file>", "write the report as JSON");
}

async function rollout(file: string, options: RolloutOptions, command: Command): Promise<ExitCode> {
  if (options.resume !== undefined) {
    const given = ["only", "label", "planDigest", "today", "alwaysRunEngine"].filter(
      (name) => command.getOptionValueSource(name) === "cli",
    );
    if (given.length > 0 || command.args.length > 0) {
      throw new ConfigurationError(
        "--resume goes on with what was planned: leave out the targets file and what selects tenants.",
      );
    }
    return await goOn(options.resume === true ? undefined : options.resume, options, UNFINISHED);
  }
  return await withRollouts(options, async (rollouts) => {
    const { label, maxConcurrent, today, alwaysRunEngine } = options;
    // No name has a comma in it.
    const only = options.only?.flatMap((names) => names.split(",")).filter((name) => name !== "");
    const { findingText } = await import("../gitops/files/finding.js");
    const { PlanningProgress } = await import("./rollout-output.js");
    const progress = new PlanningProgress();
    const planned = await untilInterrupted(async (stopping) => {
      try {
        return await rollouts.plan({
          file,
          stopping,
          onProgress: (count, of) => progress.planned(count, of),
          ...withoutUndefined({ only, labels: label, maxConcurrent, today, alwaysRunEngine }),
        });
      } finally {
        progress.end();
      }
    });
    for (const finding of planned.findings) console.error(harmless(findingText(finding)));
    return await decide(rollouts, planned, options);
  });
}

/** Shows a plan, and runs it when nothing keeps it from that and it is to be run. What is not begun is forgotten. */
async function decide(
  rollouts: Rollouts,
  planned: PlannedRollout,
  options: RunOptions & Consent,
): Promise<ExitCode> {
  const { id, digest } = planned;
  const report = await rollouts.report(id);
  const { printedOverview, writeReportFiles } = await import("./rollout-output.js");
  const overview = printedOverview(report, planned);
  if (options.events === true) process.stderr.write(overview);
  else process.stdout.write(overview);
  const code = untilRefusal(report, options) ?? verdictOn(report, planned, options);
  if (code !== undefined) {
    writeReportFiles(report, options);
    await rollouts.forget(id);
    if (code === EXIT.changes) {
      console.error(`Nothing was changed. To apply just this: add --yes --plan-digest ${digest}`);
    }
    return code;
  }
  try {
    return await run(rollouts, id, false, options);
  } catch (error) {
    // One that could not be begun is none.
    if ((await rollouts.journal.record(id)).state === "planned") await rollouts.forget(id);
    throw error;
  }
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
  { guards, digest, tolerated: inAll = Number.POSITIVE_INFINITY }: PlannedRollout,
  { yes, planDigest, failOn }: Consent,
): ExitCode | undefined {
  if (guards.length > 0) {
    console.error("error: refused by a guard, see above. Nothing was changed.");
    return EXIT.refused;
  }
  const over = waves.filter(({ counts: ofWave, tolerated }) => ofWave.failed > tolerated);
  if (over.length > 0 || counts.failed > inAll) {
    const names = over.length > 0 ? over.map(({ name }) => name).join(", ") : "the whole rollout";
    const count = tenants.filter(({ error }) => error !== undefined).length;
    console.error(
      harmless(
        `error: ${count} of ${tenants.length} tenants can't be planned, more than the tolerance of ${names} allows. Nothing was changed. Mend them, or leave them out with --only or --label. [ERR_ROLLOUT_PLAN]`,
      ),
    );
    return EXIT.error;
  }
  const alarming =
    failOn === undefined ? 0 : tenants.filter(({ alarms }) => isAlarming(alarms, failOn)).length;
  if (alarming > 0) {
    console.error(
      `error: the changes of ${alarming} ${alarming === 1 ? "tenant are" : "tenants are"} refused by --fail-on ${failOn}. Nothing was changed. Mend them, or, where one is meant, say why in the entry's \`acceptRisk\`.`,
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
  if (yes === true) return undefined;
  if (counts.pending > 0) return EXIT.changes;
  return counts.failed > 0 ? EXIT.error : EXIT.clean;
}

function isAlarming({ danger, warning }: TenantReport["alarms"], failOn: FailOn): boolean {
  return danger > 0 || (failOn === "warning" && warning > 0);
}

/** Which rollouts a command is for. */
interface Fitting {
  readonly fits: Parameters<Rollouts["find"]>[1]["fits"];
  readonly called: string;
  readonly retry: boolean;
}

const WAITING: Fitting = {
  fits: ({ state }) => state === "waiting",
  called: "that waits for a person",
  retry: false,
};
const UNFINISHED: Fitting = {
  fits: ({ state }) => state !== "abandoned",
  called: "that can be resumed",
  retry: true,
};

async function goOn(id: string | undefined, options: RunOptions, fitting: Fitting): Promise<ExitCode> {
  return await withRollouts(options, async (rollouts) => {
    const record = await rollouts.find(id, fitting);
    const changed = await rollouts.changedFiles(record);
    if (changed.length > 0) {
      const shown = changed.slice(0, 5).join(", ");
      console.error(
        harmless(
          `Changed since the rollout was planned, and not what it goes on with: ${shown}${changed.length > 5 ? ", …" : ""}. To apply them, give it up (\`email-security rollout stop ${record.id}\`) and begin a new one.`,
        ),
      );
    }
    if (id === undefined && (await isThrough(rollouts, record))) {
      throw new RolloutError(
        "ERR_ROLLOUT_NOT_FOUND",
        `There is nothing to resume: the newest rollout, ${record.id}, is through. What was only planned is not kept; begin a new one.`,
      );
    }
    return await run(rollouts, record.id, fitting.retry, options);
  });
}

async function isThrough(rollouts: Rollouts, { id, state }: RolloutRecord): Promise<boolean> {
  return state === "done" && (await rollouts.report(id)).counts.failed === 0;
}

async function run(rollouts: Rollouts, id: string, retry: boolean, options: RunOptions): Promise<ExitCode> {
  const { until, maxConcurrent, lockWait } = options;
  const lockWaitMs = lockWait === undefined ? undefined : lockWait * 1_000;
  const { RolloutScreen, checkReportFiles, writeReportFiles, printedReport } = await import(
    "./rollout-output.js"
  );
  checkReportFiles(options);
  const stopping = new AbortController();
  const aborted = new AbortController();
  const screen = await RolloutScreen.start(await rollouts.report(id), options);
  if (rollouts.isForWorkers) {
    screen.say(
      "Workers change the tenants: `email-security worker`, with the same database, on any machine.",
    );
  }
  const interrupt = (): void => {
    if (stopping.signal.aborted) {
      screen.say("Stopping at once. What was under way is done again by `email-security rollout --resume`.");
      aborted.abort();
    } else {
      screen.say(
        "Finishing the tenants that are under way, and beginning no more. Once more to stop at once.",
      );
      stopping.abort();
    }
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  try {
    const report = await rollouts.run(id, {
      retry,
      onEvent: (event) => screen.happened(event),
      stopping: stopping.signal,
      aborted: aborted.signal,
      ...withoutUndefined({ until, maxConcurrent, lockWaitMs }),
    });
    await screen.end(report);
    writeReportFiles(report, options);
    if (options.events !== true) process.stdout.write(printedReport(report));
    return codeOf(report);
  } finally {
    screen.close();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

/** Ctrl-C ends the planning, which has written nothing; once more ends the process. */
async function untilInterrupted<T>(work: (stopping: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const interrupt = (): void => {
    if (stopping.signal.aborted) process.exit(EXIT.error);
    stopping.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  try {
    return await work(stopping.signal);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

function codeOf({ state, counts }: RolloutReport): ExitCode {
  if (state === "waiting" || state === "running") return EXIT.changes;
  return state === "done" && counts.failed === 0 ? EXIT.clean : EXIT.error;
}

interface StatusOptions extends JournalOptions {
  readonly list?: boolean;
  readonly json?: string | true;
  readonly markdown?: string;
  readonly html?: string;
}

async function status(id: string | undefined, options: StatusOptions): Promise<ExitCode> {
  return await withRollouts(options, async (rollouts) => {
    const { printedReport, printedList, writeReportFiles } = await import("./rollout-output.js");
    if (options.list === true) {
      process.stdout.write(printedList(await rollouts.journal.records()));
      return EXIT.clean;
    }
    const record = await rollouts.find(id, { fits: () => true, called: "at all" });
    const report = await rollouts.report(record.id);
    const { json, markdown, html } = options;
    writeReportFiles(report, withoutUndefined({ markdown, html, json: json === true ? undefined : json }));
    if (json === true) {
      const { reportJson } = await import("../rollout/report/report-json.js");
      process.stdout.write(reportJson(report));
    } else process.stdout.write(printedReport(report));
    return codeOf(report);
  });
}

async function rollback(id: string | undefined, options: RollbackOptions): Promise<ExitCode> {
  return await withRollouts(options, async (rollouts) => {
    // One that was taken back is meant only when it is named, as to take it back to other files.
    const fits = ({ state, reason = "", spec }: RolloutRecord): boolean =>
      spec.rollsBack === undefined &&
      (id !== undefined || !(state === "abandoned" && reason.startsWith("It was taken back")));
    const record = await rollouts.find(id, { fits, called: "that can be taken back" });
    const { to, maxConcurrent } = options;
    const { filesAt } = await import("../rollout/files-at-revision.js");
    const files = to === undefined ? undefined : { files: await filesAt(to), name: `the revision ${to}` };
    const planned = await untilInterrupted(
      async (stopping) =>
        await rollouts.planRollback(record.id, files, { stopping, ...withoutUndefined({ maxConcurrent }) }),
    );
    return await decide(rollouts, planned, options);
  });
}

async function stop(id: string | undefined, options: JournalOptions): Promise<ExitCode> {
  return await withRollouts(options, async (rollouts) => {
    const fits = ({ state }: { state: string }): boolean => ["running", "waiting", "stopped"].includes(state);
    const record = await rollouts.find(id, { fits, called: "that is not through" });
    const isGivenUp = await rollouts.stop(record.id);
    console.error(
      isGivenUp
        ? `The rollout ${record.id} is given up. What it did stays; \`email-security rollout rollback ${record.id}\` takes it back.`
        : `The rollout ${record.id} begins nothing more.`,
    );
    return EXIT.clean;
  });
}

async function withRollouts(
  { database }: JournalOptions,
  work: (rollouts: Rollouts) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { Rollouts: Opened } = await import("../rollout/rollouts.js");
  const { DEFAULT_JOURNAL } = await import("../rollout/journal/open-database.js");
  const place = database ?? (process.env["EMAIL_SECURITY_DATABASE"] || DEFAULT_JOURNAL);
  const rollouts = await Opened.open({ database: place, log: (line) => console.error(harmless(line)) });
  try {
    return await work(rollouts);
  } finally {
    await rollouts.close();
  }
}
