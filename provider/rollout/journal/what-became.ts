import type { LaterChange } from "./rollout-record";

/** By which rollback a rollout was rolled back in a stack, and which rollouts changed the stack since and still stand. */
export function becameOf(
  id: string,
  later: readonly LaterChange[],
): { readonly by: string | undefined; readonly since: readonly string[] } {
  let by: string | undefined;
  let since: string[] = [];
  for (const { rollout, rollsBack, state } of later) {
    const isDone = state === "done" || state === "unchanged";
    if (rollsBack === undefined) since.push(rollout);
    // What a rollback that failed has left can be rolled back once more.
    else if (isDone && rollsBack === id) by = rollout;
    else if (isDone) since = since.filter((one) => one !== rollsBack);
  }
  return { by, since };
}
