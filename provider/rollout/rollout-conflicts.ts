import { formatFirst } from "../settings/text";
import type { Rival } from "./journal/rollout-record";
import type { RolloutCommands } from "./model/commands";
import { RolloutError } from "./model/errors";
import type { Advice } from "./model/rollout-report";
import { adviceOn } from "./report/report-of";
import type { RolloutContext } from "./rollout-context";

/**
 * The error for a rollout that can't begin because another rollout has not finished with the same stacks. Beginning would overtake a
 * rollout that is paused or stopped.
 */
export async function rivalError(conflict: Rival, context: RolloutContext): Promise<RolloutError> {
  const [message, advice] = await describeRival(conflict, context);
  return new RolloutError("ERR_ROLLOUT_BUSY", `${message} Nothing was changed. ${advice}`);
}

/** Describes the state of another rollout, and what to do about it. */
export async function describeRival(
  { id, state, reason = "", stacks }: Rival,
  context: RolloutContext,
): Promise<readonly [what: string, next: string]> {
  const { commands, journal } = context;
  const isLocked = await context.isHeld(id);
  const stackNames = formatFirst(stacks, (stack) => stack);
  const status = isLocked
    ? "is under way."
    : state === "waiting"
      ? `waits for a person. ${reason}`
      : state === "stopped"
        ? `was stopped. ${reason}`
        : "was interrupted.";
  const advice: readonly Advice[] = isLocked
    ? [{ why: "Wait for it, or stop it:", command: commands.stop(id) }]
    : [
        ...(await adviceOn(journal, await journal.record(id), isLocked, commands)),
        { why: "Or abandon it:", command: commands.abandon(id) },
      ];
  return [
    `The rollout ${id} has not come to these stacks yet (${stackNames}), and ${status.trim()}`,
    advice.map(({ why, command }) => (command === undefined ? why : `${why} \`${command}\`.`)).join(" "),
  ];
}

/** The error for a rollback of a rollout that is still running. */
export function underWayError(id: string, commands: RolloutCommands): RolloutError {
  return new RolloutError(
    "ERR_ROLLOUT_BUSY",
    `The rollout ${id} is still under way. Nothing was changed. Stop it first: \`${commands.stop(id)}\`; once its run has ended, roll it back: \`${commands.rollback(id)}\``,
  );
}
