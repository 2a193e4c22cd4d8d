import type { LaterChange } from "./rollout-record";

/** Returns which rollback rolled a rollout back in a stack, and which later rollouts of the stack were not rolled back. */
export function becameOf(
  id: string,
  later: readonly LaterChange[],
): { readonly by: string | undefined; readonly since: readonly string[] } {
  let by: string | undefined;
  let since: string[] = [];
  for (const { rollout, rollsBack, state } of later) {
    const isDone = state === "done" || state === "unchanged";
    if (rollsBack === undefined) since.push(rollout);
    // The remaining tenants of a failed rollback can be rolled back again.
    else if (isDone && rollsBack === id) by = rollout;
    else if (isDone) since = since.filter((one) => one !== rollsBack);
  }
  return { by, since };
}
