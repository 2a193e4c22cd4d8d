import { Command } from "commander";
import { type ExitCode, verb } from "../../cli/command-line";
import { withHelp } from "../../cli/verb-help";
import { harmless } from "../../settings/text";
import { findRollout, withKnownRollouts } from "./open-rollouts";
import { run } from "./rollout-run";
import { EXITS, type GivenRunOptions, withReadOutputs, withRunOptions } from "./rollout-run-options";
import { tellSkipped } from "./rollout-skip";

const RESUME_EXIT_CODES = {
  ...EXITS,
  2: "something is left to do: another gate, an interruption, a tenant that the targets file doesn't name as it was",
  3: "refused by a guard: a tenant is not as it was when it was planned",
} as const;

export function resumeCommand(): Command {
  return withHelp(
    withRunOptions(new Command("resume"))
      .description("Resume a rollout past the gate where it waits, or after an interruption, a stop or failed tenants")
      .argument("[id]", "The rollout, or the beginning of its id (default: the newest that can be resumed)")
      .action(verb(runResumeCommand)),
    {
      examples: [
        { does: "the newest that can be resumed", line: "rollout resume" },
        {
          does: "and wait again after the wave early",
          line: "rollout resume 20261121-0800-7f3a91 --until early",
        },
      ],
      exits: RESUME_EXIT_CODES,
    },
  );
}

async function runResumeCommand(id: string | undefined, commandOptions: GivenRunOptions): Promise<ExitCode> {
  const options = withReadOutputs(commandOptions);
  return await withKnownRollouts(options, async (rollouts) => {
    const { isOpen } = await import("../../rollout/journal/which-rollout.js");
    const record = await findRollout(rollouts, id, "resume");
    const [newest] = await rollouts.journal.records();
    const isOlder = id === undefined && newest !== undefined && newest.id !== record.id;
    const gateText = record.state === "waiting" ? ` It passes where it waits: ${record.reason ?? ""}` : "";
    console.error(
      harmless(
        `Resuming ${rollouts.fullName(record)}${isOlder ? ", which is not the newest" : ""}.${gateText.trimEnd()}`,
      ),
    );
    const changedFiles = await rollouts.changedFiles(record);
    if (changedFiles.length > 0) {
      const shownFiles = changedFiles.slice(0, 5).join(", ");
      const newPlanCommand = `\`${rollouts.commands.plan(record.spec.source, [], record.spec.task)}\``;
      console.error(
        harmless(
          `Changed since the rollout was planned, and not what it goes on with: ${shownFiles}${changedFiles.length > 5 ? ", …" : ""}. To apply them, ${
            isOpen(record)
              ? `abandon it (\`${rollouts.commands.abandon(record.id)}\`), and begin a new one (${newPlanCommand})`
              : `begin a new one: ${newPlanCommand}`
          }.`,
        ),
      );
    }
    await tellSkipped(rollouts, record, "Goes on without");
    // Approve only a gate that was reached before this read: nobody has seen a later one.
    return await run(rollouts, record.id, record.state !== "waiting", options);
  });
}
