import type { RolloutCommands } from "../model/rollout-commands";
import type { RolloutLock, UnreadableLock } from "./rollout-lock";

/** Describes a rollout in another journal: its state, the location of the journal, and what to do if that is lost. */
export function describeLock(lock: RolloutLock | UnreadableLock, commands: RolloutCommands): string {
  const { rollout } = lock;
  const abandon = commands.abandon(rollout);
  if (lock.state === "unreadable") {
    return `The rollout ${rollout} is being started by another run, or was killed as it started. If no such run is in progress, abandon it: \`${abandon}\``;
  }
  return [
    `The rollout ${rollout} of another journal (${lock.journal}) ${lock.status.replace(/\.$/, "")} (as of ${lock.at}).`,
    `Continue it with that journal. If the journal is lost, abandon the rollout: \`${abandon}\`. To undo its changes after that, revert the settings files (git revert) and run \`${commands.plan("tenants.yaml")}\`.`,
  ].join("\n");
}
