import { dangerRank, type Transition } from "../../settings/danger";
import { sentOf } from "../../settings/entry-fields";
import type { FleetDifference, FleetStatus, TenantStatus } from "./status-schema";

/** A difference that several tenants share. */
export interface DifferenceGroup {
  /** The difference in the first tenant. */
  readonly difference: FleetDifference;
  readonly members: readonly { readonly tenant: TenantStatus; readonly difference: FleetDifference }[];
}

/** The kinds of a tenant's differences. */
export type DifferenceKind = "drift" | "behind" | "unattributed";

/**
 * Groups differences that several tenants share. The most dangerous come first, then the risky ones, then those of the most tenants. The
 * tenants of a group are sorted by the danger of all their differences.
 */
export function groupedDifferences(
  { tenants }: Pick<FleetStatus, "tenants">,
  which: DifferenceKind,
): readonly DifferenceGroup[] {
  const of = (tenant: TenantStatus): readonly FleetDifference[] => tenant[which] ?? [];
  const ordered = tenants.toSorted((one, other) => worstOf(of(one), which) - worstOf(of(other), which));
  const all = ordered.flatMap((tenant) => of(tenant).map((difference) => ({ tenant, difference })));
  const groups = [...Map.groupBy(all, ({ difference }) => identityOf(difference)).values()];
  return groups
    .flatMap((members) => members.slice(0, 1).map(({ difference }) => ({ difference, members })))
    .sort(
      (one, other) =>
        rankOf(one.difference, which) - rankOf(other.difference, which) ||
        isRisky(other.difference) - isRisky(one.difference) ||
        other.members.length - one.members.length,
    );
}

/**
 * Returns the effect of drift on a tenant, or of the next rollout on a tenant that is behind. If neither is known, additional entries count
 * as drift, and missing ones as behind.
 */
export function differenceTransition(
  { what, list, there, declared }: FleetDifference,
  which: DifferenceKind,
): Transition {
  const listOf = (one: { readonly list?: string } | undefined): string | undefined =>
    one && (list === "vip" ? "vip" : one.list);
  return which === "drift" || (which === "unattributed" && there !== undefined)
    ? { from: listOf(declared), to: listOf(there), isLingering: what === "leaving" }
    : { from: listOf(there), to: listOf(declared) };
}

/** Sorts tenants by their most dangerous drift, the worst first. Tenants of equal rank keep their order. */
export function sortByWorstDrift(tenants: readonly TenantStatus[]): TenantStatus[] {
  return tenants.toSorted((one, other) => worstOf(one.drift, "drift") - worstOf(other.drift, "drift"));
}

function worstOf(differences: readonly FleetDifference[], which: DifferenceKind): number {
  return differences.reduce((worst, one) => Math.min(worst, rankOf(one, which)), Number.MAX_SAFE_INTEGER);
}

/** A risky difference ranks like a new allow, whatever its kind. */
function rankOf(difference: FleetDifference, which: DifferenceKind): number {
  const rank = dangerRank(differenceTransition(difference, which));
  return difference.risks === undefined ? rank : Math.min(rank, 1);
}

function isRisky({ risks }: FleetDifference): number {
  return Number(risks !== undefined);
}

/** Returns everything that two tenants must have in common, which excludes the line in the file, the author and the time. */
function identityOf({ what, list, value, scope, there, declared, why, risks }: FleetDifference): string {
  return JSON.stringify([what, list, value, scope, there && sentOf(there), declared, why, risks]);
}
