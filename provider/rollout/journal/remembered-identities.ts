import type { RememberedIdentities } from "../targets/same-tenant";
import type { Target } from "../targets/target";
import type { Database } from "./database";
import { reachedIn } from "./reached";
import type { WhoseRollouts } from "./rollout-record";

/**
 * Reads by what the last rollout of each tenant identified it.
 *
 * @throws {JournalError} when the journal can't be read.
 */
export async function rememberedIdentities(
  database: Database,
  whose: WhoseRollouts,
  targets: readonly Target[],
): Promise<RememberedIdentities> {
  const { stacks } = await reachedIn(database, { ...whose, stacks: targets.map(({ stack }) => stack) });
  return new Map(
    targets.flatMap((target) => {
      const last = stacks.get(target.stack)?.last;
      return last?.identity === undefined
        ? []
        : [[target, { identity: last.identity, rollout: last.rollout }] as const];
    }),
  );
}
