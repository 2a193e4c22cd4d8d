import { isTenantOf, type Observed } from "../../plan/observed";
import type { TenantIdentity } from "../../settings/tenant-identity";
import type { EarlierReading } from "./same-tenant";

/**
 * Returns whether a tenant isn't the one that the last rollout read on its stack. Any earlier reading on that stack counts as its own, because
 * the last rollout may have had a wrong key.
 */
export async function isReplacedTenant(
  last: TenantIdentity,
  readEarlier: () => Promise<readonly EarlierReading[]>,
  baseUrl: string,
  observed: Observed,
): Promise<boolean> {
  if (isTenantOf(last, baseUrl, observed) !== false) return false;
  const earlier = await readEarlier();
  return !earlier.some(({ identity }) => isTenantOf(identity, baseUrl, observed) === true);
}

/** Why nothing that a stack remembers may be applied to a tenant: the rollout read another tenant there. */
export function replacedReason(rollout: string): string {
  return `its key opens another tenant of the service than the rollout ${rollout} read, by ids and creation dates of entries, or by people`;
}
