import { enumerate, given, say, type Words } from "../../render/words";
import { hashOf } from "../../settings/plan-digest";

/** Several tenants under a name, so that theirs are written out once. */
export interface TenantGroup {
  /** `group 1`. */
  readonly name: string;
  readonly tenants: readonly string[];
}

const FEW = 3;

/** Whether they are named in their place. */
export function isFew(tenants: readonly string[]): boolean {
  return tenants.length <= FEW;
}

/** Who gets something, in a few words; more than a few tenants that are not all become a group, the same ones the same. */
export class TenantGroups {
  readonly #total: number;
  readonly #groups = new Map<string, TenantGroup>();

  /** @param total how many tenants there are. */
  constructor(total: number) {
    this.#total = total;
  }

  /** In the order in which they were first told of. */
  get all(): readonly TenantGroup[] {
    return [...this.#groups.values()];
  }

  /** `in acme`, `in all 300 tenants`, `in 40 of 300 tenants: group 1`. @param tenants in their order; at least one. */
  where(tenants: readonly string[]): Words {
    if (tenants.length === this.#total && tenants.length > 1) return say`in all ${tenants.length} tenants`;
    const who = this.who(tenants);
    if (isFew(tenants)) return say`in ${who}`;
    return say`in ${tenants.length} of ${this.#total} tenants: ${who}`;
  }

  /** `acme and globex`, `all`, `group 1`. @param tenants in their order; at least one. */
  who(tenants: readonly string[]): Words {
    if (isFew(tenants)) return enumerate(tenants.map((name): Words => [given(name)]));
    if (tenants.length === this.#total) return ["all"];
    const key = hashOf(tenants);
    const group = this.#groups.get(key) ?? { name: `group ${this.#groups.size + 1}`, tenants };
    this.#groups.set(key, group);
    return [group.name];
  }
}
