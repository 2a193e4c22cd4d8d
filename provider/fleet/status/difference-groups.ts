import { getDangerRank, type Transition } from "../../model/danger";
import { pickSentFields } from "../../model/entry-fields";
import type { FleetDifference, FleetStatus, TenantStatus } from "./status-schema";

/** A difference that several tenants share. */
export interface DifferenceGroup {
  /** The difference in the first tenant. */
  readonly difference: FleetDifference;
  readonly members: readonly { readonly tenant: TenantStatus; readonly difference: FleetDifference }[];
}

export type DifferenceKind = "drift" | "pendingChanges" | "unclassified";

/**
 * Groups differences that several tenants share. The most dangerous come first, then the risky ones, then those of the most tenants. The
 * tenants of a group are sorted by the danger of all their differences.
 */
export function groupDifferences(
  { tenants }: Pick<FleetStatus, "tenants">,
  kind: DifferenceKind,
): readonly DifferenceGroup[] {
  const getDifferences = (tenant: TenantStatus): readonly FleetDifference[] => tenant[kind] ?? [];
  const ordered = tenants.toSorted(
    (a, b) => getWorstRank(getDifferences(a), kind) - getWorstRank(getDifferences(b), kind),
  );
  const tenantDifferences = ordered.flatMap((tenant) =>
    getDifferences(tenant).map((difference) => ({ tenant, difference })),
  );
  const groups = [...Map.groupBy(tenantDifferences, ({ difference }) => getDifferenceIdentity(difference)).values()];
  return groups
    .flatMap((members) => members.slice(0, 1).map(({ difference }) => ({ difference, members })))
    .sort(
      (a, b) =>
        rankDifference(a.difference, kind) - rankDifference(b.difference, kind) ||
        getRiskOrder(b.difference) - getRiskOrder(a.difference) ||
        b.members.length - a.members.length,
    );
}

/**
 * Returns the effect of drift on a tenant, or of the next rollout with its pending changes. If neither is known, additional entries count as
 * drift, and missing ones as pending changes.
 */
export function getDifferenceTransition(
  { driftKind, list, actual, declared }: FleetDifference,
  kind: DifferenceKind,
): Transition {
  const getList = (item: { readonly list?: string } | undefined): string | undefined =>
    item && (list === "vip" ? "vip" : item.list);
  return kind === "drift" || (kind === "unclassified" && actual !== undefined)
    ? { from: getList(declared), to: getList(actual), isLingering: driftKind === "pending-removal" }
    : { from: getList(actual), to: getList(declared) };
}

/** Sorts tenants by their most dangerous drift, the worst first. Tenants of equal rank keep their order. */
export function sortByWorstDrift(tenants: readonly TenantStatus[]): TenantStatus[] {
  return tenants.toSorted((a, b) => getWorstRank(a.drift, "drift") - getWorstRank(b.drift, "drift"));
}

function getWorstRank(differences: readonly FleetDifference[], kind: DifferenceKind): number {
  return differences.reduce((worst, item) => Math.min(worst, rankDifference(item, kind)), Number.MAX_SAFE_INTEGER);
}

/** A risky difference ranks like a new allow, whatever its kind. */
function rankDifference(difference: FleetDifference, kind: DifferenceKind): number {
  const rank = getDangerRank(getDifferenceTransition(difference, kind));
  return difference.risks === undefined ? rank : Math.min(rank, 1);
}

function getRiskOrder({ risks }: FleetDifference): number {
  return Number(risks !== undefined);
}

/** Returns everything that two tenants must have in common, which excludes the line in the file, the author and the time. */
function getDifferenceIdentity({
  driftKind,
  list,
  value,
  scope,
  actual,
  declared,
  reason,
  risks,
}: FleetDifference): string {
  return JSON.stringify([driftKind, list, value, scope, actual && pickSentFields(actual), declared, reason, risks]);
}
