import { Command } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { failOnOption } from "../../cli/plan-options";
import { type Selecting, selectionOf, withSelection } from "../../cli/tenant-options";
import { withHelp } from "../../cli/verb-help";
import { ConfigurationError } from "../../client";
import { harmless } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { findRollout, withKnownRollouts } from "./open-rollouts";
import { decide } from "./rollout-decision";
import { untilInterrupted } from "./rollout-interrupt";
import { type Consent, EXITS, type GivenRunOptions, withReadOutputs, withRunOptions } from "./rollout-run-options";

interface RollbackOptions extends GivenRunOptions, Consent, Selecting {
  readonly to?: string;
}

const ROLLBACK_EXIT_CODES = {
  ...EXITS,
  0: "all tenants hold what they held before, but for those that are skipped",
  2: `${EXITS[2]}, a tenant that the targets file doesn't name as it was, or whose key opens another one now`,
} as const;

/** `rollout rollback`: returns tenants to their state before a rollout. */
export function rollbackCommand(): Command {
  return withHelp(
    withRunOptions(withSelection(new Command("rollback")))
      .description(
        "Roll back a rollout: return each tenant to what it held before, in the order of the waves, without waiting",
      )
      .argument(
        "[id]",
        "The rollout, or the beginning of its id (default: the newest that began a tenant, without those of --only-expired and --revert-drift; refused once it is rolled back)",
      )
      .option("--to <revision>", "Return to the files of this git revision instead, with all waits of the waves")
      .option("--yes", "Apply the plan; without it, only show it")
      .option("--plan-digest <digest>", "Apply only the plan with this reviewed digest")
      .addOption(failOnOption())
      .action(verb(runRollbackCommand)),
    {
      examples: [
        { does: "see what would be rolled back", line: "rollout rollback" },
        { does: "roll it back", line: "rollout rollback 20261121-0800-7f3a91 --yes" },
        { does: "to the files of a revision", line: "rollout rollback --to v1.4.0 --yes" },
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
  const options = withReadOutputs(commandOptions);
  const misplacedOptions = ["onlyExpired", "revertDrift"].filter(
    (name) => command.parent?.getOptionValueSource(name) === "cli",
  );
  if (misplacedOptions.length > 0) {
    throw new ConfigurationError(
      "--only-expired and --revert-drift are of rollouts of their own, and a rollback does neither: leave them out. Nothing was changed.",
    );
  }
  return await withKnownRollouts(options, async (rollouts) => {
    const record = await findRollout(rollouts, id, "rollback");
    console.error(harmless(`Rolling back ${rollouts.fullName(record)}.`));
    const { to, maxConcurrent } = options;
    const { filesAt } = await import("../../rollout/planning/files-at-revision.js");
    const files = to === undefined ? undefined : { files: await filesAt(to), name: `the files of the revision ${to}` };
    const plannedRollout = await untilInterrupted(
      options,
      async (stopping) =>
        await rollouts.planRollback(record.id, files, {
          stopping,
          ...selectionOf(options),
          ...withoutUndefined({ maxConcurrent }),
        }),
    );
    if (plannedRollout === undefined) return EXIT.refused;
    return await decide(rollouts, plannedRollout, options);
  });
}
