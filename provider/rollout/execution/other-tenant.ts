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
 * When a rollout is resumed, a key may open a different tenant than at planning time. The writing process already compares the state that
 * it
 * reads with the planned one. Only if they differ does this module look up which tenant it is.
 */

/** Builds the environment with which the provider process rejects a tenant other than the planned one, and names the key's source. */
export function expectedTenant({ key, place }: Target, identity: TenantIdentity | undefined): Record<string, string> {
  return {
    [TENANT_SOURCE]: `${nameOf(key)} (${lineText(place)})`,
    ...(identity === undefined || isNothing(identity) ? {} : { [PLANNED_IDENTITY]: JSON.stringify(identity) }),
  };
}

/** Whether the tenant had no identifying content at planning time, so that it couldn't be compared with others. */
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
  const scope = { project, ...withoutUndefined({ backend }) };
  const duplicates = await findSameTargetsIn(
    new Map([[target, identity]]),
    async () => await rememberedIdentities(database, scope, [], "all"),
    (name) => acceptsEmptyTenant(environment, name),
  );
  if (duplicates.length > 0) throw new SameTenantError(duplicates, "Nothing was written to it.");
}

/**
 * Asserts that two keys don't open the same tenant. Planning can't detect this for an empty tenant.
 *
 * @throws {SameTenantError} (`ERR_SAME_TENANT`)
 */
export async function assertNoOtherKey(
  claimed: ClaimedTenant,
  identity: TenantIdentity,
  journal: Journal,
): Promise<void> {
  const { target } = claimed;
  const otherIdentities = await journal.identitiesLike(claimed, identity);
  const duplicates = findSameTargets(new Map([[target, identity], ...otherIdentities]));
  const ownDuplicates = duplicates.filter(({ read }) => read.includes(target));
  if (ownDuplicates.length > 0)
    throw new SameTenantError(ownDuplicates, "The tenant was empty when it was planned. It was written to.");
}
