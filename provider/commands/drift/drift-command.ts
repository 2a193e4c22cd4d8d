import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { connectToTenant } from "../../cli/connect-to-tenant";
import { createTodayOption } from "../../cli/date-options";
import { findDefaultSettingsFile } from "../../cli/default-settings-file";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import {
  addWriteOptions,
  lockFiles,
  lockWaitReporter,
  showAndWrite,
  type WriteOptions,
} from "../../cli/write-file-changes";
import { ConfigurationError } from "../../client/errors";
import type { Drift } from "../../gitops/drift-schema";
import { type Transition, truncateByDanger } from "../../model/danger";
import { omitUndefined } from "../../model/omit-undefined";
import { excerpt, quote, sanitizeLine } from "../../model/text";
import type { StackLists } from "../../plan/desired-state";
import type { ObservedState } from "../../plan/observed-state";
import { NO_STACK_CONFIG, readOwnDomainNames } from "../../resources/configuration";
import type { FileLocks } from "../../settings-files/file-locks";
import type { Settings } from "../../settings-files/settings-model";
import type { AdoptableKind } from "./plan-adoption";

const FORMATS = ["text", "markdown", "json"] as const;

interface DriftOptions extends WriteOptions, OutputOptions<(typeof FORMATS)[number]> {
  readonly today?: string;
  readonly adopt?: string;
  readonly revert?: boolean;
  readonly stack?: string;
}

/**
 * Builds `email-security drift`, which shows the differences between a tenant and its files, with author and date. Exit codes: 0 no drift;
 * 2 drift (after `--adopt`: items that were not adopted); 1 error.
 */
export function createDriftCommand(): Command {
  const command = new Command("drift")
    .description("Show drift between a tenant and its settings files")
    .argument("[file]", "Settings file (default: settings.yaml, or the only file in settings that no other includes)")
    .option(
      "--adopt <kinds>",
      "Write drift of these kinds into the settings files: added, changed, removed, or several separated by commas; the last two require --stack",
    );
  addWriteOptions(command)
    .option("--revert", "Print the commands that revert the drift, without running them")
    .option("--stack <name>", "Compare with this stack's last run, to tell console changes from file changes")
    .addOption(createTodayOption());
  addOutputOptions(command, FORMATS).action(wrapAction(runDriftCommand));
  return addHelp(command, {
    examples: [
      {
        purpose: "Show changes at the tenant since the stack's last run",
        line: "drift settings/acme.yaml --stack acme",
      },
      {
        purpose: "Adopt all drift into the files, and open a pull request",
        line: "drift --stack acme --adopt added,changed,removed --pr",
      },
      { purpose: "Write a report for an issue, as a nightly job does", line: "drift --stack acme --output drift.md" },
    ],
    exits: {
      0: "There is no drift, or all of it was adopted",
      1: "An error occurred",
      2: "There is drift; with --pr, you still have to open the pull or merge request",
    },
  });
}

async function runDriftCommand(fileArgument: string | undefined, options: DriftOptions): Promise<ExitCode> {
  const { readSettings } = await import("../../settings-files/read-settings.js");
  const { detectDrift } = await import("../../gitops/detect-drift.js");
  const { readObservedState } = await import("../../plan/observed-state.js");
  const { getHost } = await import("../../gitops/plan-tenant.js");
  const { readStackLists } = await import("../../plan/stack-lists.js");
  const { renderDriftMarkdown, renderDriftText } = await import("./drift-renderers.js");
  const outputs = parseOutputs(options, FORMATS, options.revert ? "--revert" : undefined);
  const adoptKinds = await parseAdoptKinds(options);
  const file = fileArgument ?? (await findDefaultSettingsFile());
  const loadSettings = (): Settings => readSettings(file, omitUndefined({ today: options.today }));
  let settings = loadSettings();
  const client = connectToTenant();
  let knownLists: StackLists | undefined;
  let observed: ObservedState;
  try {
    knownLists = options.stack === undefined ? undefined : await readStackLists(options.stack, undefined);
    observed = await readObservedState(client);
  } finally {
    await client.close();
  }
  using locks = adoptKinds === undefined || options.dryRun ? undefined : await lockFiles(settings.files);
  // The files may have changed during a slow request.
  if (locks !== undefined) settings = loadSettings();
  await locks?.add(settings.files, lockWaitReporter);
  const drift: Drift = detectDrift(settings, observed, getHost(client), knownLists, {
    ownDomains: readOwnDomainNames(NO_STACK_CONFIG, process.env),
    acceptance: { environment: process.env },
  });
  const { formatDriftJson } = await import("../../gitops/drift-schema.js");
  await writeOutputs(outputs, {
    text: ({ columns }) => renderDriftText(drift, columns),
    markdown: () => renderDriftMarkdown(drift),
    json: () => formatDriftJson(drift),
  });
  if (options.revert) {
    const { buildRevertCommands } = await import("./revert-commands.js");
    const upCommand = ["pulumi up --refresh", ...(options.stack === undefined ? [] : ["--stack", options.stack])];
    console.log(buildRevertCommands(drift, upCommand.join(" ")).join("\n"));
  }
  if (adoptKinds === undefined) return drift.items.length > 0 ? EXIT.changes : EXIT.clean;
  // With other formats, stdout is for programs.
  const printsText = outputs.some(({ format, to }) => format === "text" && to === "stdout");
  return await adoptAndWrite(settings, drift, adoptKinds, { ...options, isText: printsText }, locks);
}

/**
 * Parses the kinds of drift to adopt.
 *
 * @returns undefined if `--adopt` isn't given.
 * @throws {ConfigurationError} for an unknown kind, or one that needs `--stack`.
 */
async function parseAdoptKinds({
  adopt,
  stack,
  dryRun,
  commit,
  pr,
}: DriftOptions): Promise<readonly AdoptableKind[] | undefined> {
  if (adopt === undefined) {
    if (dryRun ?? commit ?? pr)
      throw new ConfigurationError("--dry-run, --commit and --pr require --adopt; without it, no file is written.");
    return undefined;
  }
  const { ADOPTABLE_KINDS } = await import("./plan-adoption.js");
  const names = adopt.split(",").map((name) => name.trim());
  const kinds = ADOPTABLE_KINDS.filter((kind) => names.includes(kind));
  const unknownKind = names.find((name) => !ADOPTABLE_KINDS.some((kind) => kind === name));
  if (unknownKind !== undefined) {
    throw new ConfigurationError(
      `--adopt supports ${ADOPTABLE_KINDS.join(", ")}, or several of them separated by commas, not ${quote(unknownKind)}. Put the settings file before it, as in \`drift FILE --adopt added\`.`,
    );
  }
  if (stack === undefined && kinds.some((kind) => kind !== "added")) {
    throw new ConfigurationError(
      `--adopt ${kinds.filter((kind) => kind !== "added").join(",")} requires --stack: the stack's state distinguishes changes at the tenant from declarations that no run has applied yet.`,
    );
  }
  return kinds;
}

/** The maximum number of lines for each kind. The files and the report contain all of them. */
const MAX_SHOWN_ITEMS = 50;

async function adoptAndWrite(
  settings: Settings,
  drift: Drift,
  kinds: readonly AdoptableKind[],
  options: DriftOptions & { readonly isText: boolean },
  locks: FileLocks | undefined,
): Promise<ExitCode> {
  const { formatFinding } = await import("../../settings-files/finding.js");
  const { createFileReader } = await import("../../settings-files/read-yaml-file.js");
  const { adoptDrift } = await import("./adopt-drift.js");
  const { buildAdoptionMessage, formatAdoptionCounts, formatAdoptionStepName, getAdoptionTransition } = await import(
    "./adoption-commit-message.js"
  );
  const { getDriftTransition, isUnmanagedItem } = await import("../../gitops/detect-drift.js");
  const { files, steps, unadoptedItems, findings } = adoptDrift(
    drift,
    settings,
    createFileReader(settings.file),
    kinds,
  );
  // Keeps each message on one line, whatever the service or a file contains.
  const log = (line: string): void => console.error(wrapForTerminal(sanitizeLine(line), process.stderr));
  const logTruncated = <T>(
    items: readonly T[],
    getTransition: (item: T) => Transition,
    formatItem: (item: T) => string,
    moreHint: string,
  ): void => {
    const { visible, hiddenText } = truncateByDanger(items, MAX_SHOWN_ITEMS, getTransition);
    for (const item of visible) log(formatItem(item));
    if (hiddenText !== undefined) log(`… and ${hiddenText}; ${moreHint}.`);
  };
  const print = options.isText ? console.log : console.error;
  const code = await showAndWrite(files, buildAdoptionMessage(steps), options, { print, locks });
  if (steps.length > 0) log(`${formatAdoptionCounts(steps)}: ${describeNextStep(options)}`);
  logTruncated(
    steps.filter(({ lossNote }) => lossNote !== undefined),
    getAdoptionTransition,
    (step) => `${formatAdoptionStepName(step)}: ${step.lossNote}.`,
    "the diff shows all of them",
  );
  const transitions = new Map<string, Transition>(
    steps.flatMap((step) =>
      step.items.map(({ kind, key }) => [`${kind} ${key}`, getAdoptionTransition(step)] as const),
    ),
  );
  logTruncated(
    findings,
    ({ subject }) => transitions.get(`${subject?.kind} ${subject?.key}`) ?? {},
    formatFinding,
    "`email-security lint` shows all of them once they are in the files",
  );
  logTruncated(
    unadoptedItems,
    ({ item }) => getDriftTransition(item),
    ({ item, reason }) =>
      `Not adopted: ${(item.actual ?? item.declared)?.list ?? "VIP"} ${excerpt(item.value)}: ${excerpt(reason, 1_000)}.`,
    "`email-security drift` shows all of them",
  );
  const handledItems = new Set([...steps.flatMap(({ items }) => items), ...unadoptedItems.map(({ item }) => item)]);
  const otherItems = drift.items.filter((item) => !handledItems.has(item));
  const unmanagedCount = otherItems.filter((item) => isUnmanagedItem(item, settings)).length;
  const revertedCount = otherItems.length - unmanagedCount;
  if (revertedCount > 0) {
    const hasAdoptable = otherItems.some((item) => item.driftKind === "changed" || item.driftKind === "missing");
    const advice = hasAdoptable ? "; `--adopt changed,removed --stack NAME` adopts them into the files" : "";
    log(`${revertedCount} more differ from the declaration: the next \`pulumi up --refresh\` reverts them${advice}.`);
  }
  if (unmanagedCount > 0) {
    log(
      `${unmanagedCount} more are undeclared. The list's mode keeps them; \`--adopt added\` adopts them into the files.`,
    );
  }
  if (options.dryRun) return drift.items.length > 0 ? EXIT.changes : EXIT.clean;
  return unadoptedItems.length + otherItems.length > 0 ? EXIT.changes : code;
}

function describeNextStep({ dryRun, commit, pr }: DriftOptions): string {
  if (dryRun) return "would be adopted; nothing was written.";
  if (commit ?? pr) return "adopted; give each entry an owner if the team's policy requires one.";
  return "adopted; check `git diff`, give each entry an owner, and open a pull request.";
}
