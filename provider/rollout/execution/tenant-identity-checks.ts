import { formatLineLocation } from "../../files/finding";
import { TENANT_SOURCE_VARIABLE } from "../../resources/configuration";
import { PLANNED_IDENTITY_VARIABLE } from "../../resources/tenant-verifier";
import { isEmptyTenantAccepted } from "../../settings/mail-domains";
import { omitUndefined } from "../../settings/omit-undefined";
import { isEmptyIdentity, type TenantIdentity } from "../../settings/tenant-identity";
import { readIdentityRecords } from "../journal/identity-records";
import type { Journal } from "../journal/journal";
import type { ClaimedJob, TenantSummary } from "../journal/rollout-record";
import type { Target } from "../model/target";
import { describeKeySource } from "../targets/read-key";
import { findTenantConflicts, SameTenantError, validateTenantIdentities } from "../targets/tenant-conflicts";

/*
 * When a rollout is resumed, a key may open a different tenant than at planning time. The writing process already compares the state that
 * it
 * reads with the planned one. Only if they differ does this module look up which tenant it is.
 */

/** Builds the environment with which the provider process rejects a tenant other than the planned one, and names the key's source. */
export function buildExpectedTenantEnv(
  { key, place }: Target,
  identity: TenantIdentity | undefined,
): Record<string, string> {
  return {
    [TENANT_SOURCE_VARIABLE]: `${describeKeySource(key)} (${formatLineLocation(place)})`,
    ...(identity === undefined || isEmptyIdentity(identity)
      ? {}
      : { [PLANNED_IDENTITY_VARIABLE]: JSON.stringify(identity) }),
  };
}

/** Whether the tenant had no identifying content at planning time, so that it couldn't be compared with others. */
export function wasEmpty({ identity }: TenantSummary): boolean {
  return identity !== undefined && isEmptyIdentity(identity);
}

/**
 * Asserts that what was read isn't what rollouts read of another tenant, nor a tenant that no rollout read.
 *
 * @param environment may say that what rollouts remember of the tenant is wrong.
 * @throws {SameTenantError} (`ERR_OTHER_TENANT`)
 */
export async function assertNoOtherTenant(
  { target, spec: { project, backend } }: ClaimedJob,
  identity: TenantIdentity,
  { database }: Journal,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  if (isEmptyIdentity(identity)) return;
  const scope = { project, ...omitUndefined({ backend }) };
  const duplicates = await validateTenantIdentities(
    new Map([[target, identity]]),
    async () => await readIdentityRecords(database, scope, [], "all"),
    (name) => isEmptyTenantAccepted(environment, name),
  );
  if (duplicates.length > 0) throw new SameTenantError(duplicates, "Nothing was written to it.");
}

/**
 * Asserts that two keys don't open the same tenant. Planning can't detect this for an empty tenant.
 *
 * @throws {SameTenantError} (`ERR_SAME_TENANT`)
 */
export async function assertNoDuplicateTenant(
  claimed: ClaimedJob,
  identity: TenantIdentity,
  journal: Journal,
): Promise<void> {
  const { target } = claimed;
  const otherIdentities = await journal.findSimilarIdentities(claimed, identity);
  const duplicates = findTenantConflicts(new Map([[target, identity], ...otherIdentities]));
  const ownDuplicates = duplicates.filter(({ targets }) => targets.includes(target));
  if (ownDuplicates.length > 0)
    throw new SameTenantError(ownDuplicates, "The tenant was empty when it was planned. It was written to.");
}
