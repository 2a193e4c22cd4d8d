import { lineText } from "../../files/finding";
import { TENANT_SOURCE } from "../../resources/configuration";
import { PLANNED_IDENTITY } from "../../resources/same-tenant";
import { isNothing, type TenantIdentity } from "../../settings/tenant-identity";
import { acceptsEmptyTenant } from "../../settings/tenant-people";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Journal } from "../journal/journal";
import { rememberedIdentities } from "../journal/remembered-identities";
import type { ClaimedTenant, TenantSummary } from "../journal/rollout-record";
import type { Target } from "../model/target";
import { nameOf } from "../targets/read-key";
import { findSameTargets, findSameTargetsIn, SameTenantError } from "../targets/same-tenant";

/*
 * A key may open another tenant when a rollout is resumed than when it was planned. The process that writes compares what it reads anyway
 * with what the planning read; only where that differs, it is looked up here whose tenant it is.
 */

/** The environment by which the provider process refuses another tenant than the one that was read, and names the key's source. */
export function expectedTenant(
  { key, place }: Target,
  identity: TenantIdentity | undefined,
): Record<string, string> {
  return {
    [TENANT_SOURCE]: `${nameOf(key)} (${lineText(place)})`,
    ...(identity === undefined || isNothing(identity)
      ? {}
      : { [PLANNED_IDENTITY]: JSON.stringify(identity) }),
  };
}

/** Whether nothing identified a tenant when it was planned, so that it could be compared with no other one. */
export function wasEmpty({ identity }: TenantSummary): boolean {
  return identity !== undefined && isNothing(identity);
}

/**
 * Asserts that what was read isn't what rollouts read of another tenant, nor a tenant that no rollout read.
 *
 * @param environment may say that what rollouts remember of the tenant is wrong.
 * @throws {SameTenantError} (`ERR_OTHER_TENANT`)
 */
export async function assertNoOtherTenant(
  { target, spec: { project, backend } }: ClaimedTenant,
  identity: TenantIdentity,
  { database }: Journal,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  if (isNothing(identity)) return;
  const whose = { project, ...withoutUndefined({ backend }) };
  const same = await findSameTargetsIn(
    new Map([[target, identity]]),
    async () => await rememberedIdentities(database, whose, [], "all"),
    (name) => acceptsEmptyTenant(environment, name),
  );
  if (same.length > 0) throw new SameTenantError(same, "Nothing was written to it.");
}

/**
 * Keeps two keys of one tenant that was empty when it was planned from ending a rollout as if there were two tenants.
 *
 * @throws {SameTenantError} (`ERR_SAME_TENANT`)
 */
export async function assertNoOtherKey(
  claimed: ClaimedTenant,
  identity: TenantIdentity,
  journal: Journal,
): Promise<void> {
  const { target } = claimed;
  const others = await journal.identitiesLike(claimed, identity);
  const same = findSameTargets(new Map([[target, identity], ...others]));
  const own = same.filter(({ read }) => read.includes(target));
  if (own.length > 0)
    throw new SameTenantError(own, "The tenant was empty when it was planned. It was written to.");
}
