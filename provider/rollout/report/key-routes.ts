import { counted, given, say, sentence, type Words } from "../../render/words";
import type { TenantReport } from "../model/rollout-report";
import { unnamed } from "../targets/placeholders";

/** An address, where the keys that it is sent come from, and whose they are. */
export interface KeyRoute {
  readonly address: string;
  /** With `{name}` or `{NAME}` where it is the tenant's own for each of several. */
  readonly keyFrom: string;
  /** By name; at least one. */
  readonly tenants: readonly string[];
}

/** Which address is sent keys from where; those that differ by the tenant's name alone are one. The most tenants first. */
export function keyRoutes(tenants: readonly TenantReport[]): readonly KeyRoute[] {
  const groups = Map.groupBy(tenants, ({ name, address, keyFrom }) =>
    JSON.stringify([address, unnamed(keyFrom, name)]),
  );
  return [...groups.values()]
    .map((group): KeyRoute => {
      const [{ name, address, keyFrom } = { name: "", address: "", keyFrom: "" }] = group;
      return {
        address,
        keyFrom: group.length === 1 ? keyFrom : unnamed(keyFrom, name),
        tenants: group.map((tenant) => tenant.name),
      };
    })
    .sort((one, other) => other.tenants.length - one.tenants.length);
}

/** What is told of one, of a rollout with so many tenants. */
export function routeWords({ address, keyFrom, tenants }: KeyRoute, all: number): Words {
  const [only = ""] = tenants;
  const whose: Words =
    tenants.length === 1
      ? say`the key of ${given(only)}`
      : [`the keys of ${tenants.length === all ? "all " : ""}${counted(tenants.length, "tenant")}`];
  return say`${given(address)} is sent ${whose}, from ${sentence(keyFrom)}`;
}
