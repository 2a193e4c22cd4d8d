import { isDangerous } from "../../settings/danger";
import type { TenantChange } from "../model/rollout-report";
import { rankChange, reportedTransition } from "./change-danger";

/** A change that several tenants get, told once. */
export interface SharedChange extends Omit<TenantChange, "alarm"> {
  /** How many tenants get it: of all that were planned. */
  readonly tenants: number;
  /** The first of them. */
  readonly first: string;
  /** In how many of them it is a risk, is one that was accepted, and has a warning. */
  readonly alarms: { readonly danger: number; readonly accepted: number; readonly warning: number };
}

/**
 * Counts which changes tenants share, while they are planned: of whole plans, where the journal's summaries hold the first
 * few of each. A change that is counted is counted in all tenants.
 */
export class ChangeTally {
  readonly #shared = new Map<string, Counted>();
  readonly #most: number;
  #tenants = 0;

  /** @param most so many different changes are counted: one that comes after them is left out in every tenant. */
  constructor(most = MOST_CHANGES) {
    this.#most = most;
  }

  /** @param changes all that a tenant's plan has; to be told once of each tenant. */
  add(tenant: string, changes: readonly TenantChange[]): void {
    if (changes.length === 0) return;
    this.#tenants += 1;
    const own = new Map<string, number>();
    for (const { alarm, ...change } of changes) {
      const key = JSON.stringify([change.sign, change.kind, change.list ?? "", change.value]);
      // Two entries of one value, as of two verdict scopes, read alike, and are two changes.
      const nth = (own.get(key) ?? 0) + 1;
      own.set(key, nth);
      const counted = this.#counted(nth === 1 ? key : `${key} ${nth}`, change, alarm, tenant);
      if (counted === undefined) continue;
      counted.tenants += 1;
      if (alarm !== undefined) counted.alarms[alarm] += 1;
    }
  }

  /**
   * The most dangerous first; of these, those that are a risk somewhere, then those with a warning, then those of the most tenants,
   * and in them what a plan tells first. The same whichever tenant was planned first.
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
    // One whole plan is in memory anyway: of a single tenant, nothing is left out.
    // What is dangerous has room of its own, so that it is not left out behind much that is not.
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

/** Some megabytes. */
const MOST_CHANGES = 20_000;

/** What comes first is smaller, part by part. */
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
