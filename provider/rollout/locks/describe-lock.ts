import type { RolloutCommands } from "../model/rollout-commands";
import type { RolloutLock, UnreadableLock } from "./rollout-lock";

/** Describes a rollout in another journal: its state, the location of the journal, and what to do if that is lost. */
export function describeLock(lock: RolloutLock | UnreadableLock, commands: RolloutCommands): string {
  const { rollout } = lock;
  const abandon = commands.abandon(rollout);
  if (lock.state === "unreadable") {
    return `The rollout ${rollout} is being begun elsewhere, or was killed as it began. If no such run is under way: \`${abandon}\``;
  }
  return [
    `The rollout ${rollout} of another journal (${lock.journal}) ${lock.status.replace(/\.$/, "")}; so it was status on ${lock.at}.`,
    `Go on with it where that journal is. If the journal is lost, abandon the rollout: \`${abandon}\`. To undo what it did then, put the settings files back (git revert) and run \`${commands.plan("tenants.yaml")}\`.`,
  ].join("\n");
}
