import { withoutUndefined } from "../../settings/without-undefined";
import type { Database } from "../database/database";
import type { Target } from "../model/target";
import { isOpenState } from "../model/wave";
import type { RememberedTenants } from "../targets/same-tenant";
import { type Reached, reachedIn } from "./reached";
import type { WhoseRollouts } from "./rollout-record";

/**
 * Returns what rollouts read of tenants.
 *
 * @param targets all tenants of the targets file.
 * @param filter `all` includes tenants that are no longer in the file.
 * @throws {JournalError} if the journal can't be read.
 */
export async function rememberedIdentities(
  database: Database,
  scope: Omit<WhoseRollouts, "stacks">,
  targets: readonly Target[],
  filter: "declared" | "all" = "declared",
): Promise<RememberedTenants> {
  const stacks = filter === "all" ? {} : { stacks: targets.map(({ stack }) => stack) };
  return rememberedIn(await reachedIn(database, { ...scope, ...stacks }), targets, filter);
}

/** Returns the same from one or more journals that were already read. */
export function rememberedIn(
  { stacks, earlier }: Pick<Reached, "stacks" | "earlier">,
  targets: readonly Target[],
  filter: "declared" | "all",
): RememberedTenants {
  const declared = new Map(targets.map((target) => [target.stack, target]));
  return new Map(
    [...stacks].flatMap(([stack, { last, next }]) => {
      if (filter === "declared" && !declared.has(stack)) return [];
      // A plan that was never started may come from a wrong key, for which the rollout was then abandoned.
      const isNewer = next?.identity !== undefined && (next.isBegun || isOpenState(next.rolloutState));
      const lastRead = isNewer ? next : last;
      if (lastRead?.identity === undefined) return [];
      const { name = lastRead.name, place } = declared.get(stack) ?? {};
      const { rollout, identity, fingerprint } = lastRead;
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
            ...(isNewer && next.isBegun ? { isInterrupted: true, ...withoutUndefined({ lasting: next.lasting }) } : {}),
          },
        ] as const,
      ];
    }),
  );
}
