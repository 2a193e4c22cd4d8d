import type { LaterChange } from "./rollout-record";

/** Returns which rollback rolled a rollout back in a stack, and which later rollouts of the stack were not rolled back. */
export function getStackRollbackStatus(
  id: string,
  laterChanges: readonly LaterChange[],
): { readonly rolledBackBy: string | undefined; readonly laterRollouts: readonly string[] } {
  let rollbackId: string | undefined;
  let laterRollouts: string[] = [];
  for (const { rollout, rollsBack, state } of laterChanges) {
    const isDone = state === "done" || state === "unchanged";
    if (rollsBack === undefined) laterRollouts.push(rollout);
    // The remaining tenants of a failed rollback can be rolled back again.
    else if (isDone && rollsBack === id) rollbackId = rollout;
    else if (isDone) laterRollouts = laterRollouts.filter((id) => id !== rollsBack);
  }
  return { rolledBackBy: rollbackId, laterRollouts };
}
