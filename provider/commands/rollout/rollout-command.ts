import { existsSync } from "node:fs";
import { Command, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { createTodayOption } from "../../cli/date-options";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { createFailOnOption } from "../../cli/fail-on-option";
import { writeOutputs } from "../../cli/output/write-outputs";
import {
  addSelectionOptions,
  DEFAULT_TARGETS_FILE,
  parseSelection,
  type SelectionOptions,
} from "../../cli/tenant-options";
import { wrapAction } from "../../cli/wrap-action";
import { ConfigurationError } from "../../client";
import { omitUndefined } from "../../model/omit-undefined";
import { sanitizeMultiline } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { RolloutMode } from "../../rollout/model/rollout-mode";
import type { MailScope } from "../../rollout/planning/search-tenant-mail";
import type { TargetSelection } from "../../rollout/targets/select-targets";
import { createRolloutHistoryCommands } from "./rollout-history";
import { runInterruptibly } from "./rollout-interrupt";
import { createRolloutPruneCommand } from "./rollout-prune";
import { createRolloutResumeCommand } from "./rollout-resume";
import { createRollbackCommand } from "./rollout-rollback";
import {
  addRunOptions,
  type Consent,
  getUnprintedOutputs,
  parseRunOptions,
  ROLLOUT_EXIT_CODES,
  type RolloutRunFlags,
  type RolloutRunOptions,
} from "./rollout-run-options";
import { createRolloutSkipCommand, createRolloutUnskipCommand } from "./rollout-skip";
import { createRolloutStatusCommand } from "./rollout-status";
import { createRolloutAbandonCommand, createRolloutStopCommand } from "./rollout-stop";
import { runWithRollouts } from "./run-with-rollouts";
import { showAndRunPlan, showsMailEvidence } from "./show-and-run-plan";

interface RolloutOptions extends RolloutRunFlags, Consent, SelectionOptions {
  readonly today?: string;
  readonly evidence?: (typeof EVIDENCE_CHOICES)[number];
  readonly onlyExpired?: boolean;
  readonly revertDrift?: boolean;
}

/** The tenants whose mail is queried for a plan that is shown. */
const EVIDENCE_CHOICES = ["sample", "all", "none"] as const;

/**
 * `email-security rollout`: applies one change to many tenants, in waves. Exit codes: 0 all tenants are as declared; 2 there are changes
 * without `--yes`, or the rollout waits for a person; 3 refused by a blocker, or the plan is stale; 1 error, or a tenant failed.
 */
export function createRolloutCommand(): Command {
  const command = new Command("rollout")
    // Options after a subcommand belong to it: it has options of the same names.
    .enablePositionalOptions()
    .description("Plan a change for all tenants, and apply it in waves that stop on failures")
    .argument("[file]", "The targets file, which lists the tenants and waves", DEFAULT_TARGETS_FILE)
    .option("--yes", "Apply the plan; without it, only show it")
    .option("--plan-digest <digest>", "Apply only the plan with this reviewed digest")
    .addOption(createFailOnOption())
    .addOption(createTodayOption())
    .addOption(
      new Option(
        "--evidence <tenants>",
        "Show mail evidence in the Markdown and HTML of a plan: for 5 tenants (sample, the default), for each tenant with changes (all), or for none",
      ).choices(EVIDENCE_CHOICES),
    )
    .option(
      "--only-expired",
      "Remove expired entries and nothing else; other changes stay pending. Add --yes to apply it",
    )
    .option(
      "--revert-drift",
      "Revert drift and nothing else, in tenants with `onDrift: revert` and no pending change in their files. Add --yes to apply it",
    )
    .action(wrapAction(runRolloutCommand));
  addRunOptions(addSelectionOptions(command));
  const subcommands = [
    createRolloutResumeCommand(),
    createRolloutStatusCommand(),
    createRollbackCommand(),
    createRolloutStopCommand(),
    createRolloutAbandonCommand(),
    ...createRolloutHistoryCommands(),
    createRolloutPruneCommand(),
    createRolloutSkipCommand(),
    createRolloutUnskipCommand(),
  ];
  for (const subcommand of subcommands) command.addCommand(subcommand);
  return addHelp(command, {
    examples: [
      {
        purpose: "Show the plan for all tenants, and write it for a pull request; nothing is changed",
        line: "rollout tenants.yaml --output comment.md --output plan.html",
      },
      { purpose: "Apply exactly the reviewed plan", line: "rollout --yes --plan-digest r2-5d3c0f6a" },
      { purpose: "Continue past a gate, or after an interruption", line: "rollout resume" },
    ],
    exits: ROLLOUT_EXIT_CODES,
  });
}

async function runRolloutCommand(file: string, commandOptions: RolloutOptions, command: Command): Promise<ExitCode> {
  assertKnownCommand(file, command);
  const options = parseRunOptions(commandOptions);
  const mode = getRolloutMode(options);
  const selection = mode === "revert-drift" ? await selectDriftRevertTenants(file, options) : parseSelection(options);
  if (selection === undefined) return EXIT.clean;
  return await runWithRollouts(options, async (rollouts) => {
    const { maxConcurrent, today } = options;
    const mail = getMailScope(options);
    const { formatFinding } = await import("../../settings-files/finding.js");
    const { PlanningProgress } = await import("./rollout-output.js");
    const progress = new PlanningProgress();
    const plannedRollout = await runInterruptibly(options, async (stopping) => {
      try {
        return await rollouts.plan({
          file,
          stopping,
          onProgress: (count, total) => progress.reportPlanned(count, total),
          onMail: (count, total) => progress.reportMailRead(count, total),
          ...selection,
          ...omitUndefined({ maxConcurrent, today, mail, mode }),
        });
      } finally {
        progress.end();
      }
    });
    if (plannedRollout === undefined) return EXIT.refused;
    for (const finding of plannedRollout.findings) console.error(sanitizeMultiline(formatFinding(finding)));
    return await showAndRunPlan(rollouts, plannedRollout, options);
  });
}

/** Returns the tenants whose mail is queried: only for a plan that is shown in full and not started. */
function getMailScope({ evidence, yes, outputs }: RolloutOptions & RolloutRunOptions): MailScope | undefined {
  const isMailRendered = yes !== true && outputs.some(showsMailEvidence);
  if (evidence !== undefined && evidence !== "none" && !isMailRendered) {
    throw new ConfigurationError(
      "--evidence appears only in the Markdown or HTML of a plan: add --output plan.md or --output plan.html, and omit --yes.",
    );
  }
  return evidence === "none" || !isMailRendered ? undefined : (evidence ?? "sample");
}

/** Returns the rollout's mode; undefined for a rollout that applies the files. */
function getRolloutMode({ onlyExpired, revertDrift, evidence = "none" }: RolloutOptions): RolloutMode | undefined {
  if (onlyExpired === true && revertDrift === true) {
    throw new ConfigurationError(
      "--only-expired and --revert-drift need two rollouts: run one, then the other. Nothing was changed.",
    );
  }
  const mode = onlyExpired === true ? "only-expired" : revertDrift === true ? "revert-drift" : undefined;
  if (mode !== undefined && evidence !== "none") {
    throw new ConfigurationError(
      "--evidence applies to a plan of everything that the files declare; --only-expired and --revert-drift don't query mail. Omit --evidence. Nothing was changed.",
    );
  }
  return mode;
}

/** Selects tenants whose settings allow a rollout to revert drift. Undefined if there are none; prints a note in that case. */
async function selectDriftRevertTenants(
  file: string,
  options: RolloutOptions & RolloutRunOptions,
): Promise<(TargetSelection & { readonly among: readonly string[] }) | undefined> {
  const { findDriftRevertTenants } = await import("../../rollout/planning/drift-revert-tenants.js");
  const { names, unreadableCount, selectedCount } = findDriftRevertTenants(file, parseSelection(options));
  const readableCount = names.length - unreadableCount;
  const countText = `${readableCount} of ${formatCount(selectedCount, "tenant")} ${readableCount === 1 ? "has" : "have"} \`onDrift: revert\` in the settings files`;
  const unreadableText = unreadableCount === 0 ? "" : `, and the files of ${unreadableCount} can't be read`;
  const outcomeText = names.length === 0 ? ": nothing is reverted." : "; the others stay unchanged.";
  console.error(`${countText}${unreadableText}${outcomeText}`);
  if (names.length > 0) return { ...parseSelection(options), among: names };
  // Write empty reports: those of an earlier run could be mistaken for this run's.
  const { buildEmptyReport } = await import("../../rollout/report/empty-report.js");
  const { createReportRenderers } = await import("./rollout-output.js");
  const { PLAN_COMMENT_MARKER } = await import("../../plan/render/plan-markdown.js");
  await writeOutputs(
    getUnprintedOutputs(options),
    createReportRenderers(buildEmptyReport(file, "revert-drift", countText), PLAN_COMMENT_MARKER),
  );
  return undefined;
}

/** Rejects an unknown command: an argument that neither looks like a path nor names an existing file. */
function assertKnownCommand(file: string, command: Command): void {
  if (/[./\\]/.test(file) || existsSync(file)) return;
  command.error(`error: unknown command '${file}'`);
}
