import { omitUndefined } from "../../model/omit-undefined";
import type { Database } from "../database/database";
import type { Target } from "../model/target";
import { isOpenState } from "../model/wave";
import type { IdentityRecord, IdentityRecords } from "../targets/tenant-conflicts";
import { type AppliedRollout, type LastAppliedRollouts, readLastApplied } from "./last-applied";
import type { RolloutOrder } from "./rollout-order";
import type { RolloutScope } from "./rollout-record";

/**
 * Returns the identities that rollouts recorded of tenants.
 *
 * @param filter `all` includes tenants that are no longer in the file.
 * @throws {JournalError} if the journal can't be read.
 */
export async function readIdentityRecords(
  database: Database,
  scope: Omit<RolloutScope, "stacks">,
  targets: readonly Target[],
  filter: "declared" | "all" = "declared",
): Promise<IdentityRecords> {
  const stacks = filter === "all" ? {} : { stacks: targets.map(({ stack }) => stack) };
  return selectIdentityRecords(await readLastApplied(database, { ...scope, ...stacks }), targets, filter);
}

function getIdentityOrder({ identityOrder, order, stackSeq }: AppliedRollout): Pick<RolloutOrder, "id" | "seq"> {
  return identityOrder ?? { id: order.id, seq: stackSeq };
}

export function selectIdentityRecords(
  { stacks, readEarlier }: Pick<LastAppliedRollouts, "stacks" | "readEarlier">,
  targets: readonly Target[],
  filter: "declared" | "all",
): IdentityRecords {
  const declared = new Map(targets.map((target) => [target.stack, target]));
  return new Map(
    [...stacks].flatMap(([stack, { applied, pending }]): [string, IdentityRecord][] => {
      if (filter === "declared" && !declared.has(stack)) return [];
      // A plan that was never started may come from a wrong key, for which the rollout was then abandoned.
      const isNewer = pending?.identity !== undefined && (pending.isStarted || isOpenState(pending.rolloutState));
      const lastRead = isNewer ? pending : applied;
      const lastOrder = isNewer ? pending.order : applied && getIdentityOrder(applied);
      if (lastRead?.identity === undefined || lastOrder === undefined) return [];
      const { name = lastRead.name, place } = declared.get(stack) ?? {};
      const { identity, fingerprint, acceptedSeq } = lastRead;
      const { id: rollout, seq = 0 } = lastOrder;
      return [
        [
          stack,
          {
            stack,
            name,
            rollout,
            seq,
            identity,
            readEarlierIdentities: async () => await readEarlier(stack),
            ...omitUndefined({ place, fingerprint, acceptedSeq }),
            ...(isNewer && pending.isStarted
              ? { isInterrupted: true, ...omitUndefined({ stableIdentity: pending.stableIdentity }) }
              : {}),
          },
        ],
      ];
    }),
  );
}
