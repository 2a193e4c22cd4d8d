import { formatCount, type SafeText, safeText, untrusted, untrustedSentence } from "../../render/safe-text";
import type { TenantReport } from "../model/rollout-report";
import { restorePlaceholders } from "../targets/placeholders";

export interface KeyRoute {
  readonly address: string;
  /** With `{name}` or `{NAME}` if several tenants have one each. */
  readonly keySource: string;
  readonly tenants: readonly string[];
}

/** Groups the tenants by address and key source, the largest group first. Sources that differ only in the tenant's name share a group. */
export function groupKeyRoutes(tenants: readonly TenantReport[]): readonly KeyRoute[] {
  const groups = Map.groupBy(tenants, ({ name, address, keySource }) =>
    JSON.stringify([address, restorePlaceholders(keySource, name)]),
  );
  return [...groups.values()]
    .map((group): KeyRoute => {
      const [{ name, address, keySource } = { name: "", address: "", keySource: "" }] = group;
      return {
        address,
        keySource: group.length === 1 ? keySource : restorePlaceholders(keySource, name),
        tenants: group.map((tenant) => tenant.name),
      };
    })
    .sort((a, b) => b.tenants.length - a.tenants.length);
}

export function formatKeyRoute({ address, keySource, tenants }: KeyRoute, tenantCount: number): SafeText {
  const [onlyTenant = ""] = tenants;
  const keysText: SafeText =
    tenants.length === 1
      ? safeText`the key of ${untrusted(onlyTenant)}`
      : [`the keys of ${tenants.length === tenantCount ? "all " : ""}${formatCount(tenants.length, "tenant")}`];
  return safeText`${untrusted(address)} receives ${keysText}, from ${untrustedSentence(keySource)}`;
}
