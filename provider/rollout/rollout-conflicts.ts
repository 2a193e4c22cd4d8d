import { formatFirstItems } from "../model/text";
import type { ConflictingRollout } from "./journal/rollout-record";
import type { RolloutCommands } from "./model/rollout-commands";
import { RolloutError } from "./model/rollout-error";
import type { Advice } from "./model/rollout-report";
import { getRolloutAdvice } from "./report/build-rollout-report";
import type { RolloutContext } from "./rollout-context";

/**
 * Builds the error for a rollout that can't begin because another rollout has not finished with the same stacks. It
 * would overtake a paused or stopped rollout.
 */
export async function buildRolloutConflictError(
  conflict: ConflictingRollout,
  context: RolloutContext,
): Promise<RolloutError> {
  const [message, advice] = await describeConflictingRollout(conflict, context);
  return new RolloutError("ERR_ROLLOUT_BUSY", `${message} Nothing was changed. ${advice}`);
}

export async function describeConflictingRollout(
  { id, state, reason = "", stacks }: ConflictingRollout,
  context: RolloutContext,
): Promise<readonly [message: string, advice: string]> {
  const { commands, journal } = context;
  const isLocked = await context.isLocked(id);
  const stackNames = formatFirstItems(stacks, (stack) => stack);
  const status = isLocked
    ? "is in progress."
    : state === "waiting"
      ? `waits for approval. ${reason}`
      : state === "stopped"
        ? `was stopped. ${reason}`
        : "was interrupted.";
  const advice: readonly Advice[] = isLocked
    ? [{ reason: "Wait for it, or stop it:", command: commands.stop(id) }]
    : [
        ...(await getRolloutAdvice(journal, await journal.getRollout(id), isLocked, commands)),
        { reason: "Or abandon it:", command: commands.abandon(id) },
      ];
  return [
    `The rollout ${id} has not changed these stacks yet (${stackNames}), and ${status.trim()}`,
    advice.map(({ reason, command }) => (command === undefined ? reason : `${reason} \`${command}\`.`)).join(" "),
  ];
}

export function buildRolloutRunningError(id: string, commands: RolloutCommands): RolloutError {
  return new RolloutError(
    "ERR_ROLLOUT_BUSY",
    `The rollout ${id} is still in progress. Nothing was changed. Stop it first: \`${commands.stop(id)}\`; when its run has ended, roll it back: \`${commands.rollback(id)}\``,
  );
}
