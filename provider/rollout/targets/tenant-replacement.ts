import { formatAcceptAdvice, isEmptyTenantAccepted } from "../../model/mail-domains";
import { isObservedTenant, type ObservedState } from "../../plan/observed-state";
import { OtherTenantError } from "../../resources/lifecycle/errors";
import type { Target } from "../model/target";
import { formatTargetWithKey, type IdentityRecord } from "./tenant-conflicts";

/**
 * Returns whether a tenant is the one of an earlier identity, like {@link isObservedTenant}. Undefined if one of the two
 * identifies no tenant.
 */
export type IdentityComparator = (earlier: IdentityRecord["identity"]) => boolean | undefined;

/**
 * Returns whether a tenant isn't the one that the last rollout read on its stack. Any earlier identity on that stack
 * counts as its own, because the last rollout may have had a wrong key. If a rollout changed the tenant only in part,
 * compares only what that rollout doesn't touch.
 */
export async function isDifferentTenant(record: IdentityRecord, compare: IdentityComparator): Promise<boolean> {
  const { identity, stableIdentity, isInterrupted = false, readEarlierIdentities = async () => [] } = record;
  const expected = isInterrupted ? stableIdentity : identity;
  if (expected === undefined || compare(expected) !== false) return false;
  const earlierIdentities = await readEarlierIdentities();
  return !earlierIdentities.some((earlierIdentity) => compare(earlierIdentity.identity) === true);
}

/** Returns a function that compares earlier identities with a tenant's current lists. */
export function createIdentityComparator(baseUrl: string, observed: ObservedState): IdentityComparator {
  return (earlier) => isObservedTenant(earlier, baseUrl, observed);
}

export function formatDifferentTenantReason(rollout: string): string {
  return `its key belongs to another tenant of the service than the rollout ${rollout} read, according to ids and creation dates of entries, or to people`;
}

/** Returns an error for a read-only command if a tenant isn't the one that rollouts read. */
export async function checkTenantIdentity(
  target: Target,
  before: IdentityRecord | undefined,
  environment: NodeJS.ProcessEnv,
  compare: IdentityComparator,
): Promise<OtherTenantError | undefined> {
  const { name } = target;
  if (before === undefined || isEmptyTenantAccepted(environment, name)) return undefined;
  if (!(await isDifferentTenant(before, compare))) return undefined;
  return new OtherTenantError(
    `${formatTargetWithKey(target)} seems to be a different tenant than before: ${formatDifferentTenantReason(before.rollout)}. Check which tenant the key belongs to. If the name means another tenant now, give it its own stack (\`stack\` in the targets file). ${formatAcceptAdvice("if all of its previous content was replaced", environment, name)}`,
  );
}
