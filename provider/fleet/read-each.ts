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

/** How the tenants of a fleet are read. */
export interface ReadEachOptions<T> {
  readonly reach: Reach;
  /** How many tenants are read at once, of those whose address answers. */
  readonly concurrency: number;
  /**
   * What becomes of tenants with one key, which are one tenant: each is settled with an error that says so. `compared` reads them first:
   * where all but one are other tenants by their people, the key is that one's, which is read. Default: they are read as any.
   */
  readonly sameKeys?: "refused" | "compared";
  /**
   * What identifies the tenant in what was read. A tenant whose key opens another one is settled with an error, as far as the other
   * readings and the memory show it. Default: no tenant is compared.
   */
  readonly identity?: (read: T) => TenantIdentity;
  /** What rollouts read of tenants. Default: nothing. */
  readonly memory?: ReadMemory;
  /** Reads one; what it answers is all that is kept of the tenant. */
  readonly read: (client: SettingsClient, target: Target, asking: Asking) => Promise<T>;
  /** Told of each tenant once: what was read of it, or why that could not be. */
  readonly settled: (target: Target, outcome: Reading<T>) => void;
}

/** What was read of a tenant, or why nothing was. */
export type Reading<T> =
  | { readonly read: T; readonly error?: undefined }
  | { readonly read?: undefined; readonly error: unknown };

/**
 * Reads something of each of many tenants, each with its own key, within the permits of its address. One that can't be read
 * is told and hides no other; the tenants of an address that is down cost two time-outs together, and are not asked.
 *
 * @throws {ConfigurationError} when the environment holds a value that no request can be made with.
 */
export async function readEach<T>(
  targets: readonly Target[],
  {
    reach,
    concurrency,
    sameKeys,
    identity,
    memory = async () => new Map(),
    read,
    settled,
  }: ReadEachOptions<T>,
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
  const groups = sameKeys === undefined ? [] : findSameKeys(keys);
  const withSameKey = new Set(groups.flat());
  const outcomes = new Map<Target, Reading<T>>();
  const asked = [...keys.keys()].filter((target) => sameKeys !== "refused" || !withSameKey.has(target));
  const keyOf = (target: Target): string => keys.get(target) ?? "";
  const reads = new Map<Target, T>();
  await planEach<{ readonly read: T }>(asked, {
    addresses: new AddressHealth({
      look: lookWith(reach, (target) => Promise.resolve(keyOf(target))),
      targets: asked,
    }),
    concurrency,
    // However many fail, the others are read.
    tally: new FailureTally({ waves: [] }),
    signal: reach.signal ?? new AbortController().signal,
    end: () => {},
    plan: async (target, asking) => ({
      read: await withTargetClient(
        target,
        keyOf(target),
        reach,
        async (client) => await read(client, target, asking),
        asking,
      ),
    }),
    settled: (target, { plan, error }) => {
      // Only once all are read it is known that none is another.
      if (withSameKey.has(target)) outcomes.set(target, plan ?? { error });
      else if (plan === undefined || identity === undefined) settled(target, plan ?? { error });
      else reads.set(target, plan.read);
      return Promise.resolve();
    },
  });
  for (const group of groups) {
    const owner = ownerOf(group, outcomes);
    const sameKey = new SameKeyError([group]);
    for (const target of group) {
      const { read: one, error = sameKey } = outcomes.get(target) ?? {};
      if (target !== owner || one === undefined)
        settled(target, { error: owner === undefined ? sameKey : error });
      else if (identity === undefined) settled(target, { read: one });
      else reads.set(target, one);
    }
  }
  if (identity === undefined) return;
  const identities = new Map([...reads].map(([target, one]) => [target, identity(one)]));
  const isAccepted = (name: string): boolean => acceptsEmptyTenant(reach.environment, name);
  const same = await findSameTargetsIn(identities, memory, isAccepted);
  // What a tenant's own key opens is told of it before who else opens the tenant.
  for (const which of ["wrong", "replaced"] as const) {
    for (const group of same) {
      const error = new SameTenantError([group], "What it holds is left out.");
      for (const target of group[which]) if (reads.delete(target)) settled(target, { error });
    }
  }
  for (const [target, one] of reads) settled(target, { read: one });
}

/** The one of the tenants with one key whose key it is, where all others are other tenants by their people. */
function ownerOf<T>(group: readonly Target[], outcomes: ReadonlyMap<Target, Reading<T>>): Target | undefined {
  if (group.some((target) => !outcomes.has(target))) return undefined;
  const own = group.filter((target) => !(outcomes.get(target)?.error instanceof OtherTenantError));
  return own.length === 1 ? own[0] : undefined;
}
