import type { SettingsClient } from "../client";
import { ConnectionPool } from "../client/connection-pool";
import { forEachConcurrently } from "../model/for-each-concurrently";
import { isEmptyTenantAccepted } from "../model/mail-domains";
import type { TenantIdentity } from "../model/tenant-identity";
import { OtherTenantError } from "../resources/lifecycle/errors";
import type { Target } from "../rollout/model/target";
import { AddressHealth, type RequestPolicy } from "../rollout/probing/address-health";
import { planAllTargets } from "../rollout/probing/plan-all-targets";
import {
  assertRequestEnvironment,
  createProbe,
  type RequestContext,
  useTargetClient,
} from "../rollout/probing/target-client";
import { findSameKeys, SameKeyError } from "../rollout/targets/find-same-keys";
import { readKey } from "../rollout/targets/read-key";
import {
  type ReadIdentityRecords,
  SameTenantError,
  validateTenantIdentities,
} from "../rollout/targets/tenant-conflicts";
import { FailureTally } from "../rollout/targets/tolerance";

export interface ReadEachTenantOptions<T> {
  readonly requestContext: RequestContext;
  /** The maximum number of tenants to read concurrently, not counting addresses that don't respond. */
  readonly concurrency: number;
  /**
   * How to treat tenants with the same key, which are one tenant of the service. `reject`: each settles with an error. `compare`: reads
   * them first. If all but one turn out to be other tenants by their people, the key belongs to that one, and only the others settle with
   * an error. Default: reads them like any others.
   */
  readonly onDuplicateKeys?: "reject" | "compare";
  /**
   * Returns the identity in a result. If a tenant's key belongs to another tenant, according to the other results and the records, the tenant
   * settles with an error. Default: no comparison.
   */
  readonly getIdentity?: (read: T) => TenantIdentity;
  /** Reads the identities of tenants from earlier rollouts. Default: none. */
  readonly readIdentityRecords?: ReadIdentityRecords;
  /** Reads one tenant. Only the returned value is kept. */
  readonly read: (client: SettingsClient, target: Target, requestPolicy: RequestPolicy) => Promise<T>;
  /** Receives the number of tenants that were read, or failed. */
  readonly onProgress?: (count: number) => void;
  readonly onSettled: (target: Target, outcome: TenantReadResult<T>) => void;
}

/** The value read from a tenant, or the error that prevented it. */
export type TenantReadResult<T> =
  | { readonly value: T; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: unknown };

/**
 * Reads many tenants, each with its own key, within the rate limit of its address. An unreadable tenant doesn't affect the others. An
 * address that is down costs two time-outs in total, and its tenants get no requests.
 *
 * @throws {ConfigurationError} if the environment holds a value that makes every request impossible.
 */
export async function readEachTenant<T>(
  targets: readonly Target[],
  {
    requestContext,
    concurrency,
    onDuplicateKeys,
    getIdentity,
    readIdentityRecords = async () => new Map(),
    read,
    onProgress,
    onSettled,
  }: ReadEachTenantOptions<T>,
): Promise<void> {
  assertRequestEnvironment(requestContext.environment, targets);
  const keys = new Map<Target, string>();
  await forEachConcurrently(targets, concurrency, async (target) => {
    try {
      keys.set(target, await readKey(target, requestContext));
    } catch (error) {
      onSettled(target, { error });
    }
  });
  const sameKeyGroups = onDuplicateKeys === undefined ? [] : findSameKeys(keys);
  const sameKeyTargets = new Set(sameKeyGroups.flat());
  const outcomes = new Map<Target, TenantReadResult<T>>();
  const requestedTargets = [...keys.keys()].filter(
    (target) => onDuplicateKeys !== "reject" || !sameKeyTargets.has(target),
  );
  const getApiKey = (target: Target): string => keys.get(target) ?? "";
  const reads = new Map<Target, T>();
  let settledCount = targets.length - requestedTargets.length;
  await using connections = new ConnectionPool();
  await planAllTargets<{ readonly value: T }>(requestedTargets, {
    addresses: new AddressHealth({
      probe: createProbe(requestContext, (target) => Promise.resolve(getApiKey(target))),
      targets: requestedTargets,
    }),
    concurrency,
    // No number of failures ends the reading early.
    tally: new FailureTally({ waves: [] }),
    signal: requestContext.signal ?? new AbortController().signal,
    onToleranceExceeded: () => {},
    planTarget: async (target, requestPolicy) => ({
      value: await useTargetClient(
        target,
        getApiKey(target),
        { ...requestContext, connections },
        async (client) => await read(client, target, requestPolicy),
        requestPolicy,
      ),
    }),
    onSettled: (target, { plan, error }) => {
      onProgress?.(++settledCount);
      // The owner of a shared key is known only after all of its tenants are read.
      if (sameKeyTargets.has(target)) outcomes.set(target, plan ?? { error });
      else if (plan === undefined || getIdentity === undefined) onSettled(target, plan ?? { error });
      else reads.set(target, plan.value);
      return Promise.resolve();
    },
  });
  for (const group of sameKeyGroups) {
    const owner = findKeyOwner(group, outcomes);
    const sameKey = new SameKeyError([group]);
    for (const target of group) {
      const { value: result, error = sameKey } = outcomes.get(target) ?? {};
      if (target !== owner || result === undefined) onSettled(target, { error: owner === undefined ? sameKey : error });
      else if (getIdentity === undefined) onSettled(target, { value: result });
      else reads.set(target, result);
    }
  }
  if (getIdentity === undefined) return;
  const identities = new Map([...reads].map(([target, result]) => [target, getIdentity(result)]));
  const isEmptyTenantAllowed = (name: string): boolean => isEmptyTenantAccepted(requestContext.environment, name);
  const duplicates = await validateTenantIdentities(identities, readIdentityRecords, isEmptyTenantAllowed);
  // Report a wrong key first, before reporting which other keys belong to the same tenant.
  for (const role of ["wrongTargets", "replacedTargets"] as const) {
    for (const group of duplicates) {
      const error = new SameTenantError([group], "Its settings are omitted.");
      for (const target of group[role]) if (reads.delete(target)) onSettled(target, { error });
    }
  }
  for (const [target, result] of reads) onSettled(target, { value: result });
}

/** Finds the tenant that a shared key belongs to, if the people of all others differ. Undefined if more than one qualifies. */
function findKeyOwner<T>(
  group: readonly Target[],
  outcomes: ReadonlyMap<Target, TenantReadResult<T>>,
): Target | undefined {
  if (group.some((target) => !outcomes.has(target))) return undefined;
  const ownTargets = group.filter((target) => !(outcomes.get(target)?.error instanceof OtherTenantError));
  return ownTargets.length === 1 ? ownTargets[0] : undefined;
}
