import { withoutUndefined } from "../../settings/without-undefined";
import type { Database } from "../database/database";
import type { Target } from "../model/target";
import { isOpenState } from "../model/wave";
import type { RememberedTenants } from "../targets/same-tenant";
import { type Reached, reachedIn } from "./reached";
import type { WhoseRollouts } from "./rollout-record";

/**
 * Reads what rollouts read of tenants.
 *
 * @param targets all tenants of the targets file.
 * @param of `all`: also of tenants that have left it.
 * @throws {JournalError} when the journal can't be read.
 */
export async function rememberedIdentities(
  database: Database,
  whose: Omit<WhoseRollouts, "stacks">,
  targets: readonly Target[],
  of: "declared" | "all" = "declared",
): Promise<RememberedTenants> {
  const stacks = of === "all" ? {} : { stacks: targets.map(({ stack }) => stack) };
  return rememberedIn(await reachedIn(database, { ...whose, ...stacks }), targets, of);
}

/** The same in what was read of a journal, or of several. */
export function rememberedIn(
  { stacks, earlier }: Pick<Reached, "stacks" | "earlier">,
  targets: readonly Target[],
  of: "declared" | "all",
): RememberedTenants {
  const declared = new Map(targets.map((target) => [target.stack, target]));
  return new Map(
    [...stacks].flatMap(([stack, { last, next }]) => {
      if (of === "declared" && !declared.has(stack)) return [];
      // What was planned and never begun may have been read by a wrong key, for which the rollout was abandoned.
      const isNewer = next?.identity !== undefined && (next.isBegun || isOpenState(next.rolloutState));
      const read = isNewer ? next : last;
      if (read?.identity === undefined) return [];
      const { name = read.name, place } = declared.get(stack) ?? {};
      const { rollout, identity, fingerprint } = read;
      return [
        [
          stack,
          {
            stack,
            name,
            rollout,
            identity,
            earlier: async () => await earlier(stack),
            ...withoutUndefined({ place, fingerprint }),
            ...(isNewer && next.isBegun ? { isInterrupted: true } : {}),
          },
        ] as const,
      ];
    }),
  );
}
