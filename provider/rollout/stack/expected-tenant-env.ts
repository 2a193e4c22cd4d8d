import { isEmptyIdentity, type TenantIdentity } from "../../model/tenant-identity";
import { TENANT_SOURCE_VARIABLE } from "../../resources/configuration";
import { PLANNED_IDENTITY_VARIABLE } from "../../resources/tenant-verifier";
import { formatLineLocation } from "../../settings-files/finding";
import type { Target } from "../model/target";
import { describeKeySource } from "../targets/read-key";

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
