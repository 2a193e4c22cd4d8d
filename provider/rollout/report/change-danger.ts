import { getDangerRank, isDangerous, type Transition } from "../../model/danger";
import type { TenantChange, TenantReport } from "../model/rollout-report";

export function getReportedTransition({
  operation,
  kind,
  list = "",
}: Pick<TenantChange, "operation" | "kind" | "list">): Transition {
  const [before, after = before] = kind === "vip" ? ["vip"] : list.split(" → ");
  return { from: operation === "add" ? undefined : before, to: operation === "remove" ? undefined : after };
}

/** Ranks a change by its effect and its severities in plans: 0 for the most dangerous. */
export function rankChange(
  transition: Transition,
  { danger, accepted, warning }: { readonly danger: number; readonly accepted: number; readonly warning: number },
): number {
  if (danger > 0) return 0;
  if (isDangerous(transition)) return getDangerRank(transition);
  return accepted + warning > 0 ? 2 : 3;
}

export function rankTenantChange(change: TenantChange): number {
  const hasSeverity = (severity: TenantChange["severity"]): number => Number(change.severity === severity);
  const severities = {
    danger: hasSeverity("danger"),
    accepted: hasSeverity("accepted"),
    warning: hasSeverity("warning"),
  };
  return rankChange(getReportedTransition(change), severities);
}

/** Sorts tenants by their most dangerous changes, the worst first. Tenants of equal rank keep their order. */
export function sortTenantsByDanger(tenants: readonly TenantReport[]): TenantReport[] {
  const rankTenant = ({ changes }: TenantReport): number => Math.min(...changes.map(rankTenantChange), 4);
  return tenants
    .map((tenant) => ({ tenant, rank: rankTenant(tenant) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ tenant }) => tenant);
}
