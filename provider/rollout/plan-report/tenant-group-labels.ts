import { hashJson } from "../../model/plan-digest";
import { joinWithAnd, type SafeText, safeText, untrusted } from "../../render/safe-text";

/** A set of tenants with a name, so that the list of tenants appears only once. */
export interface TenantGroup {
  /** For example: `group 1`. */
  readonly name: string;
  readonly tenants: readonly string[];
}

const MAX_LISTED = 3;

/** Whether the tenants are named inline instead of as a group. */
export function canListInline(tenants: readonly string[]): boolean {
  return tenants.length <= MAX_LISTED;
}

/** Describes sets of tenants in a few words. A set that is neither small nor complete becomes a group. Equal sets share a group. */
export class TenantGroups {
  readonly #total: number;
  readonly #groups = new Map<string, TenantGroup>();

  constructor(total: number) {
    this.#total = total;
  }

  /** The groups in the order of their first use. */
  get groups(): readonly TenantGroup[] {
    return [...this.#groups.values()];
  }

  /**
   * For example: `in acme`, `in all 300 tenants`, `in 40 of 300 tenants: group 1`.
   *
   * @param tenants in their order; at least one.
   */
  describeScope(tenants: readonly string[]): SafeText {
    if (tenants.length === this.#total && tenants.length > 1) return safeText`in all ${tenants.length} tenants`;
    const tenantsText = this.describeTenants(tenants);
    if (canListInline(tenants)) return safeText`in ${tenantsText}`;
    return safeText`in ${tenants.length} of ${this.#total} tenants: ${tenantsText}`;
  }

  /**
   * For example: `acme and globex`, `all`, `group 1`.
   *
   * @param tenants in their order; at least one.
   */
  describeTenants(tenants: readonly string[]): SafeText {
    if (canListInline(tenants)) return joinWithAnd(tenants.map((name): SafeText => [untrusted(name)]));
    if (tenants.length === this.#total) return ["all"];
    const key = hashJson(tenants);
    const group = this.#groups.get(key) ?? { name: `group ${this.#groups.size + 1}`, tenants };
    this.#groups.set(key, group);
    return [group.name];
  }
}
