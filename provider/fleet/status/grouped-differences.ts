import type { FleetDifference, FleetStatus, TenantStatus } from "./fleet-status";

/** The same difference of several tenants. */
export interface DifferenceGroup {
  /** The first one's. */
  readonly difference: FleetDifference;
  readonly members: readonly { readonly tenant: TenantStatus; readonly difference: FleetDifference }[];
}

/** What is the same in several tenants, told once: what is risky first, then what most have. */
export function groupedDifferences(
  { tenants }: Pick<FleetStatus, "tenants">,
  which: "drift" | "behind",
): readonly DifferenceGroup[] {
  const all = tenants.flatMap((tenant) => tenant[which].map((difference) => ({ tenant, difference })));
  const groups = [...Map.groupBy(all, ({ difference }) => identityOf(difference)).values()];
  return groups
    .flatMap((members) => members.slice(0, 1).map(({ difference }) => ({ difference, members })))
    .sort((one, other) => isRisky(other) - isRisky(one) || other.members.length - one.members.length);
}

function isRisky({ difference }: DifferenceGroup): number {
  return Number(difference.risks !== undefined);
}

/** All but the tenant's own line, and who made it when. */
function identityOf({ what, list, value, scope, there, declared, why, risks }: FleetDifference): string {
  return JSON.stringify([
    what,
    list,
    value,
    scope,
    there && [there.list, there.comment],
    declared && [declared.list, declared.comment],
    why,
    risks,
  ]);
}
