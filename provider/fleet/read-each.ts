import type { SettingsClient } from "../client";
import { OtherTenantError } from "../resources/lifecycle/errors";
import type { Target } from "../rollout/model/target";
import { AddressHealth, type Asking } from "../rollout/probing/address-health";
import { planEach } from "../rollout/probing/plan-each";
import { checkReach, lookWith, type Reach, withTargetClient } from "../rollout/probing/target-client";
import { readKey } from "../rollout/targets/read-key";
import { findSameKeys, SameKeyError } from "../rollout/targets/same-key";
import { findSameTargetsIn, type ReadMemory, SameTenantError } from "../rollout/targets/same-tenant";
import { FailureTally } from "../rollout/targets/tolerance";
import { eachAtOnce } from "../settings/at-once";
import type { TenantIdentity } from "../settings/tenant-identity";
import { acceptsEmptyTenant } from "../settings/tenant-people";

/** The options of {@link readEach}. */
export interface ReadEachOptions<T> {
  readonly reach: Reach;
  /** How many tenants of responding addresses are read at once. */
  readonly concurrency: number;
  /**
   * How to treat tenants with the same key, which are one tenant of the service. `refused`: each settles with an error. `compared`: reads
   * them first. If all but one turn out to be other tenants by their people, the key belongs to that one, and only the others settle with
   * an error. Default: reads them like any others.
   */
  readonly sameKeys?: "refused" | "compared";
  /**
   * Returns the identity in a reading. If a tenant's key opens another tenant, according to the other readings and the memory, the tenant
   * settles with an error. Default: no comparison.
   */
  readonly identity?: (read: T) => TenantIdentity;
  /** Reads the identities of tenants from earlier rollouts. Default: none. */
  readonly memory?: ReadMemory;
  /** Reads one tenant. Only the returned value is kept. */
  readonly read: (client: SettingsClient, target: Target, requestPolicy: Asking) => Promise<T>;
  /** Receives the outcome of each tenant once. */
  readonly settled: (target: Target, outcome: Reading<T>) => void;
}

/** The value read from a tenant, or the error that prevented it. */
export type Reading<T> =
  | { readonly read: T; readonly error?: undefined }
  | { readonly read?: undefined; readonly error: unknown };

/**
 * Reads many tenants, each with its own key, within the rate limit of its address. An unreadable tenant doesn't affect the others. An
 * address that is down costs two time-outs in total, and its tenants get no requests.
 *
 * @throws {ConfigurationError} if the environment holds a value that makes every request impossible.
 */
export async function readEach<T>(
  targets: readonly Target[],
  { reach, concurrency, sameKeys, identity, memory = async () => new Map(), read, settled }: ReadEachOptions<T>,
): Promise<void> {
  checkReach(reach.environment, targets);
  const keys = new Map<Target, string>();
  await eachAtOnce(targets, concurrency, async (target) => {
    try {
      keys.set(target, await readKey(target, reach));
    } catch (error) {
      settled(target, { error });
    }
  });
  const sameKeyGroups = sameKeys === undefined ? [] : findSameKeys(keys);
  const withSameKey = new Set(sameKeyGroups.flat());
  const outcomes = new Map<Target, Reading<T>>();
  const requestedTargets = [...keys.keys()].filter((target) => sameKeys !== "refused" || !withSameKey.has(target));
  const getKey = (target: Target): string => keys.get(target) ?? "";
  const reads = new Map<Target, T>();
  await planEach<{ readonly read: T }>(requestedTargets, {
    addresses: new AddressHealth({
      look: lookWith(reach, (target) => Promise.resolve(getKey(target))),
      targets: requestedTargets,
    }),
    concurrency,
    // No number of failures ends the reading early.
    tally: new FailureTally({ waves: [] }),
    signal: reach.signal ?? new AbortController().signal,
    end: () => {},
    plan: async (target, requestPolicy) => ({
      read: await withTargetClient(
        target,
        getKey(target),
        reach,
        async (client) => await read(client, target, requestPolicy),
        requestPolicy,
      ),
    }),
    settled: (target, { plan, error }) => {
      // The owner of a shared key is known only after all of its tenants are read.
      if (withSameKey.has(target)) outcomes.set(target, plan ?? { error });
      else if (plan === undefined || identity === undefined) settled(target, plan ?? { error });
      else reads.set(target, plan.read);
      return Promise.resolve();
    },
  });
  for (const group of sameKeyGroups) {
    const owner = findKeyOwner(group, outcomes);
    const sameKey = new SameKeyError([group]);
    for (const target of group) {
      const { read: result, error = sameKey } = outcomes.get(target) ?? {};
      if (target !== owner || result === undefined) settled(target, { error: owner === undefined ? sameKey : error });
      else if (identity === undefined) settled(target, { read: result });
      else reads.set(target, result);
    }
  }
  if (identity === undefined) return;
  const identities = new Map([...reads].map(([target, result]) => [target, identity(result)]));
  const isAccepted = (name: string): boolean => acceptsEmptyTenant(reach.environment, name);
  const duplicates = await findSameTargetsIn(identities, memory, isAccepted);
  // What a tenant's own key opens is told of it before who else opens the tenant.
  for (const role of ["wrong", "replaced"] as const) {
    for (const group of duplicates) {
      const error = new SameTenantError([group], "What it holds is left out.");
      for (const target of group[role]) if (reads.delete(target)) settled(target, { error });
    }
  }
  for (const [target, result] of reads) settled(target, { read: result });
}

/** Finds the tenant that a shared key belongs to, if the people of all others differ. Undefined if more than one qualifies. */
function findKeyOwner<T>(group: readonly Target[], outcomes: ReadonlyMap<Target, Reading<T>>): Target | undefined {
  if (group.some((target) => !outcomes.has(target))) return undefined;
  const ownTargets = group.filter((target) => !(outcomes.get(target)?.error instanceof OtherTenantError));
  return ownTargets.length === 1 ? ownTargets[0] : undefined;
}
