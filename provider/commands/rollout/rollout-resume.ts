import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import type { ExitCode } from "../../cli/exit-codes";
import { wrapAction } from "../../cli/wrap-action";
import { sanitizeMultiline } from "../../model/text";
import { executeRollout } from "./execute-rollout";
import { addRunOptions, parseRunOptions, ROLLOUT_EXIT_CODES, type RolloutRunFlags } from "./rollout-run-options";
import { printSkippedTenants } from "./rollout-skip";
import { findRollout, runWithKnownRollouts } from "./run-with-rollouts";

const RESUME_EXIT_CODES = {
  ...ROLLOUT_EXIT_CODES,
  2: "Something remains to be done: another gate, an interruption, or a tenant that the targets file now describes differently",
  3: "Rejected by a blocker: a tenant has changed since it was planned",
} as const;

export function createRolloutResumeCommand(): Command {
  return addHelp(
    addRunOptions(new Command("resume"))
      .description("Resume a rollout that waits at a gate, was stopped or interrupted, or has failed tenants")
      .argument("[id]", "The rollout's id, or the beginning of it (default: the newest that can be resumed)")
      .action(wrapAction(runResumeCommand)),
    {
      examples: [
        { purpose: "Resume the newest rollout that can be resumed", line: "rollout resume" },
        {
          purpose: "Resume a rollout, and pause again after the wave early",
          line: "rollout resume 20261121-0800-7f3a91 --until early",
        },
      ],
      exits: RESUME_EXIT_CODES,
    },
  );
}

async function runResumeCommand(id: string | undefined, commandOptions: RolloutRunFlags): Promise<ExitCode> {
  const options = parseRunOptions(commandOptions);
  return await runWithKnownRollouts(options, async (rollouts) => {
    const { isOpenRollout } = await import("../../rollout/journal/select-rollout.js");
    const record = await findRollout(rollouts, id, "resume");
    const [newest] = await rollouts.journal.listRollouts();
    const isOlder = id === undefined && newest !== undefined && newest.id !== record.id;
    const gateText = record.state === "waiting" ? ` It passes this gate: ${record.reason ?? ""}` : "";
    console.error(
      sanitizeMultiline(
        `Resuming ${rollouts.formatFullName(record)}${isOlder ? ", which is not the newest" : ""}.${gateText.trimEnd()}`,
      ),
    );
    const changedFiles = await rollouts.findChangedFiles(record);
    if (changedFiles.length > 0) {
      const shownFiles = changedFiles.slice(0, 5).join(", ");
      const newPlanCommand = `\`${rollouts.commands.plan(record.spec.source, [], record.spec.mode)}\``;
      console.error(
        sanitizeMultiline(
          `Changed since the rollout was planned, and not used by it: ${shownFiles}${changedFiles.length > 5 ? ", …" : ""}. To apply them, ${
            isOpenRollout(record)
              ? `abandon it (\`${rollouts.commands.abandon(record.id)}\`), and begin a new one (${newPlanCommand})`
              : `begin a new one: ${newPlanCommand}`
          }.`,
        ),
      );
    }
    await printSkippedTenants(rollouts, record, "Continues without");
    // Approve only a gate that was reached before this read: nobody has seen a later one.
    return await executeRollout(rollouts, record.id, record.state !== "waiting", options);
  });
}
