import { isDangerous } from "../../settings/danger";
import type { TenantChange } from "../model/rollout-report";
import { rankChange, reportedTransition } from "./change-danger";

/** A change that several tenants share. */
export interface SharedChange extends Omit<TenantChange, "alarm"> {
  /** The number of tenants that it applies to, out of all planned ones. */
  readonly tenants: number;
  /** The name of the first of these tenants. */
  readonly first: string;
  /** The number of tenants in which it is a risk, is an accepted risk, or has a warning. */
  readonly alarms: { readonly danger: number; readonly accepted: number; readonly warning: number };
}

/**
 * Counts the tenants that share a change, during the planning. It needs the whole plans, because the summaries in the journal contain only
 * the first few changes. A counted change is counted in all tenants.
 */
export class ChangeTally {
  readonly #shared = new Map<string, Counted>();
  readonly #most: number;
  #tenants = 0;

  /** @param most the maximum number of different changes. Any further change is left out in every tenant. */
  constructor(most = MOST_CHANGES) {
    this.#most = most;
  }

  /** @param changes all changes of the tenant's plan. Call this once for each tenant. */
  add(tenant: string, changes: readonly TenantChange[]): void {
    if (changes.length === 0) return;
    this.#tenants += 1;
    const own = new Map<string, number>();
    for (const { alarm, ...change } of changes) {
      const key = JSON.stringify([change.sign, change.kind, change.list ?? "", change.value]);
      // Two entries with the same value look alike but are two changes, for example with different verdict scopes.
      const nth = (own.get(key) ?? 0) + 1;
      own.set(key, nth);
      const counted = this.#counted(nth === 1 ? key : `${key} ${nth}`, change, alarm, tenant);
      if (counted === undefined) continue;
      counted.tenants += 1;
      if (alarm !== undefined) counted.alarms[alarm] += 1;
    }
  }

  /**
   * The most dangerous changes come first, then open risks, accepted risks and warnings, then the changes of the most tenants. Ties follow
   * the order of a plan. The order doesn't depend on which tenant was planned first.
   */
  get changes(): readonly SharedChange[] {
    const keyed = [...this.#shared.values()].map((change) => [rankOf(change), change] as const);
    return keyed
      .sort(([one], [other]) => {
        const at = one.findIndex((part, index) => part !== other[index]);
        return at < 0 ? 0 : (one[at] ?? 0) < (other[at] ?? 0) ? -1 : 1;
      })
      .map(([, change]) => change);
  }

  #counted(
    key: string,
    change: Omit<TenantChange, "alarm">,
    alarm: TenantChange["alarm"],
    tenant: string,
  ): Counted | undefined {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    // A single tenant's plan is in memory anyway, so none of its changes are left out. Dangerous changes have room of their own, so that a
    // large number of harmless ones can't displace them.
    const most = alarm === "danger" || isDangerous(reportedTransition(change)) ? 2 * this.#most : this.#most;
    if (this.#shared.size >= most && this.#tenants > 1) return undefined;
    const counted = { ...change, tenants: 0, first: tenant, alarms: { danger: 0, accepted: 0, warning: 0 } };
    this.#shared.set(key, counted);
    return counted;
  }
}

type Counted = Omit<SharedChange, "tenants" | "alarms"> & {
  tenants: number;
  alarms: { danger: number; accepted: number; warning: number };
};

/** Takes some megabytes. */
const MOST_CHANGES = 20_000;

/** Returns a sort key, which is compared part by part, in ascending order. */
function rankOf({
  alarms,
  tenants,
  first,
  sign,
  kind,
  list,
  value,
}: SharedChange): readonly (number | string)[] {
  const alarm = alarms.danger > 0 ? 0 : alarms.accepted > 0 ? 1 : alarms.warning > 0 ? 2 : 3;
  return [
    rankChange(reportedTransition({ sign, kind, ...(list === undefined ? {} : { list }) }), alarms),
    alarm,
    -tenants,
    tenants === 1 ? first : "",
    list?.endsWith("allow") === true ? 0 : 1,
    ["remove", "change", "add"].indexOf(sign),
    kind,
    value,
  ];
}
