import { dangerRank, type Transition } from "../../settings/danger";
import { sentOf } from "../../settings/entry-fields";
import type { FleetDifference, FleetStatus, TenantStatus } from "./status-schema";

/** The same difference of several tenants. */
export interface DifferenceGroup {
  /** The first one's. */
  readonly difference: FleetDifference;
  readonly members: readonly { readonly tenant: TenantStatus; readonly difference: FleetDifference }[];
}

/** Which of a tenant's differences are meant. */
export type DifferenceKind = "drift" | "behind" | "unattributed";

/**
 * What is the same in several tenants, told once: the most dangerous first, of these what is risky, then what most have. The tenants of
 * a group are in the order of how dangerous all of their differences are.
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
 * Returns what happened to a tenant that drifted, or what the next rollout does to one that is behind. Where neither is known, what the
 * tenant holds counts as drift, and what it lacks as behind.
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

/** Sorts tenants with the most dangerous drift first. Those that are alike keep their order. */
export function sortByWorstDrift(tenants: readonly TenantStatus[]): TenantStatus[] {
  return tenants.toSorted((one, other) => worstOf(one.drift, "drift") - worstOf(other.drift, "drift"));
}

function worstOf(differences: readonly FleetDifference[], which: DifferenceKind): number {
  return differences.reduce((worst, one) => Math.min(worst, rankOf(one, which)), Number.MAX_SAFE_INTEGER);
}

/** What is risky is as dangerous as a new allow, whatever it is. */
function rankOf(difference: FleetDifference, which: DifferenceKind): number {
  const rank = dangerRank(differenceTransition(difference, which));
  return difference.risks === undefined ? rank : Math.min(rank, 1);
}

function isRisky({ risks }: FleetDifference): number {
  return Number(risks !== undefined);
}

/** All but the tenant's own line, and who made it when. */
function identityOf({ what, list, value, scope, there, declared, why, risks }: FleetDifference): string {
  return JSON.stringify([what, list, value, scope, there && sentOf(there), declared, why, risks]);
}
