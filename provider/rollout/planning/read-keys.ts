import { forEachConcurrently } from "../../model/for-each-concurrently";
import type { Target } from "../model/target";
import { readKey } from "../targets/read-key";
import type { FailureTally } from "../targets/tolerance";

/** Reads the key of each tenant. Returns tenants without a usable key with the error. */
export async function readKeys(
  targets: readonly Target[],
  {
    environment,
    concurrency,
    tally,
    throwIfEnded,
  }: {
    readonly environment: NodeJS.ProcessEnv;
    readonly concurrency: number;
    readonly tally: FailureTally;
    /** Throws if the planning must end. */
    readonly throwIfEnded: () => void;
  },
): Promise<{
  readonly keys: ReadonlyMap<Target, string>;
  readonly targetsWithoutKey: readonly { readonly target: Target; readonly error: unknown }[];
}> {
  const keys = new Map<Target, string>();
  const targetsWithoutKey: { readonly target: Target; readonly error: unknown }[] = [];
  await forEachConcurrently(targets, concurrency, async (target) => {
    throwIfEnded();
    // A command that prints a key may take long to fail.
    if (tally.exceededTolerances.length > 0) return;
    try {
      keys.set(target, await readKey(target, { environment }));
    } catch (error) {
      tally.add(target.name);
      targetsWithoutKey.push({ target, error });
    }
  });
  return { keys, targetsWithoutKey: targetsWithoutKey };
}
