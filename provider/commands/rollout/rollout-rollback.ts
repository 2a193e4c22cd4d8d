import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { createFailOnOption } from "../../cli/fail-on-option";
import { addSelectionOptions, parseSelection, type SelectionOptions } from "../../cli/tenant-options";
import { wrapAction } from "../../cli/wrap-action";
import { ConfigurationError } from "../../client";
import { omitUndefined } from "../../model/omit-undefined";
import { sanitizeMultiline } from "../../model/text";
import { runInterruptibly } from "./rollout-interrupt";
import {
  addRunOptions,
  type Consent,
  parseRunOptions,
  ROLLOUT_EXIT_CODES,
  type RolloutRunFlags,
} from "./rollout-run-options";
import { findRollout, runWithKnownRollouts } from "./run-with-rollouts";
import { showAndRunPlan } from "./show-and-run-plan";

interface RollbackOptions extends RolloutRunFlags, Consent, SelectionOptions {
  readonly to?: string;
}

const ROLLBACK_EXIT_CODES = {
  ...ROLLOUT_EXIT_CODES,
  0: "All tenants have their earlier state, except skipped ones",
  2: `${ROLLOUT_EXIT_CODES[2]}, or a tenant that the targets file now describes differently or whose key belongs to another one`,
} as const;

export function createRollbackCommand(): Command {
  return addHelp(
    addRunOptions(addSelectionOptions(new Command("rollback")))
      .description(
        "Roll back a rollout: undo its changes to each tenant, in the order of the waves, without gates, soak times or health checks",
      )
      .argument(
        "[id]",
        "The rollout's id, or the beginning of it (default: the newest that started to change a tenant, except those of --only-expired and --revert-drift; an error if it is already rolled back)",
      )
      .option(
        "--to <revision>",
        "Apply the files of this git revision instead, with all gates, soak times and health checks",
      )
      .option("--yes", "Apply the plan; without it, only show it")
      .option("--plan-digest <digest>", "Apply only the plan with this reviewed digest")
      .addOption(createFailOnOption())
      .action(wrapAction(runRollbackCommand)),
    {
      examples: [
        { purpose: "Show what would be rolled back", line: "rollout rollback" },
        { purpose: "Roll it back", line: "rollout rollback 20261121-0800-7f3a91 --yes" },
        { purpose: "Return to the files of a revision", line: "rollout rollback --to v1.4.0 --yes" },
      ],
      exits: ROLLBACK_EXIT_CODES,
    },
  );
}

async function runRollbackCommand(
  id: string | undefined,
  commandOptions: RollbackOptions,
  command: Command,
): Promise<ExitCode> {
  const options = parseRunOptions(commandOptions);
  const misplacedOptions = ["onlyExpired", "revertDrift"].filter(
    (name) => command.parent?.getOptionValueSource(name) === "cli",
  );
  if (misplacedOptions.length > 0) {
    throw new ConfigurationError(
      "--only-expired and --revert-drift start separate rollouts and don't apply to a rollback: omit them. Nothing was changed.",
    );
  }
  return await runWithKnownRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "rollback");
    console.error(sanitizeMultiline(`Rolling back ${rollouts.formatFullName(record)}.`));
    const { to, maxConcurrent } = options;
    const { readRevisionFiles } = await import("../../rollout/planning/revision-files.js");
    const files =
      to === undefined ? undefined : { files: await readRevisionFiles(to), name: `the files of the revision ${to}` };
    const plannedRollout = await runInterruptibly(
      options,
      async (stopping) =>
        await rollouts.planRollback(record.id, files, {
          stopping,
          ...parseSelection(options),
          ...omitUndefined({ maxConcurrent }),
        }),
    );
    if (plannedRollout === undefined) return EXIT.refused;
    return await showAndRunPlan(rollouts, plannedRollout, options);
  });
}
