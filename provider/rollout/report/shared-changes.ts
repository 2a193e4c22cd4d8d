import { isDangerous } from "../../model/danger";
import type { TenantChange } from "../model/rollout-report";
import { getReportedTransition, rankChange } from "./change-danger";

export interface SharedChange extends Omit<TenantChange, "severity"> {
  readonly tenants: number;
  readonly first: string;
  /** The number of tenants in which it is a risk, is an accepted risk, or has a warning. */
  readonly severities: { readonly danger: number; readonly accepted: number; readonly warning: number };
}

/**
 * Counts the tenants that share a change, during the planning. It needs the whole plans, because the summaries in the journal contain only
 * the first few changes. A counted change is counted in all tenants.
 */
export class ChangeTally {
  readonly #changesByKey = new Map<string, MutableSharedChange>();
  readonly #maxChanges: number;
  #tenantCount = 0;

  /** @param maxChanges the maximum number of different changes. Any further change is omitted in every tenant. */
  constructor(maxChanges = MAX_CHANGES) {
    this.#maxChanges = maxChanges;
  }

  /** @param changes all changes of the tenant's plan. Call this once for each tenant. */
  add(tenant: string, changes: readonly TenantChange[]): void {
    if (changes.length === 0) return;
    this.#tenantCount += 1;
    const occurrences = new Map<string, number>();
    for (const { severity, ...change } of changes) {
      const key = JSON.stringify([change.operation, change.kind, change.list ?? "", change.value]);
      // Two entries with the same value look alike but are two changes, for example with different verdict scopes.
      const occurrence = (occurrences.get(key) ?? 0) + 1;
      occurrences.set(key, occurrence);
      const countedChange = this.#findOrAddChange(
        occurrence === 1 ? key : `${key} ${occurrence}`,
        change,
        severity,
        tenant,
      );
      if (countedChange === undefined) continue;
      countedChange.tenants += 1;
      if (severity !== undefined) countedChange.severities[severity] += 1;
    }
  }

  /**
   * The most dangerous changes come first, then open risks, accepted risks and warnings, then the changes of the most tenants. Ties follow
   * the order of a plan. The order doesn't depend on which tenant was planned first.
   */
  get changes(): readonly SharedChange[] {
    const rankedChanges = [...this.#changesByKey.values()].map((change) => [buildSortKey(change), change] as const);
    return rankedChanges
      .sort(([a], [b]) => {
        const index = a.findIndex((part, index) => part !== b[index]);
        return index < 0 ? 0 : (a[index] ?? 0) < (b[index] ?? 0) ? -1 : 1;
      })
      .map(([, change]) => change);
  }

  #findOrAddChange(
    key: string,
    change: Omit<TenantChange, "severity">,
    severity: TenantChange["severity"],
    tenant: string,
  ): MutableSharedChange | undefined {
    const existing = this.#changesByKey.get(key);
    if (existing !== undefined) return existing;
    // A single tenant's plan is in memory anyway, so none of its changes are omitted. Dangerous changes have their own
    // budget, so that a large number of harmless ones can't displace them.
    const limit =
      severity === "danger" || isDangerous(getReportedTransition(change)) ? 2 * this.#maxChanges : this.#maxChanges;
    if (this.#changesByKey.size >= limit && this.#tenantCount > 1) return undefined;
    const countedChange = {
      ...change,
      tenants: 0,
      first: tenant,
      severities: { danger: 0, accepted: 0, warning: 0 },
    };
    this.#changesByKey.set(key, countedChange);
    return countedChange;
  }
}

type MutableSharedChange = Omit<SharedChange, "tenants" | "severities"> & {
  tenants: number;
  severities: { danger: number; accepted: number; warning: number };
};

/** This many changes take some megabytes. */
const MAX_CHANGES = 20_000;

/** Returns a sort key, which is compared part by part, in ascending order. */
function buildSortKey({
  severities,
  tenants,
  first,
  operation,
  kind,
  list,
  value,
}: SharedChange): readonly (number | string)[] {
  const severityRank = severities.danger > 0 ? 0 : severities.accepted > 0 ? 1 : severities.warning > 0 ? 2 : 3;
  return [
    rankChange(getReportedTransition({ operation, kind, ...(list === undefined ? {} : { list }) }), severities),
    severityRank,
    -tenants,
    tenants === 1 ? first : "",
    list?.endsWith("allow") === true ? 0 : 1,
    ["remove", "change", "add"].indexOf(operation),
    kind,
    value,
  ];
}
