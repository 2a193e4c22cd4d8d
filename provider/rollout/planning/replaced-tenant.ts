import type { KnownLists } from "../../plan/desired";
import type { Observed } from "../../plan/observed";
import type { Guard } from "../../plan/plan";
import { OTHER_TENANT } from "../../plan/same-tenant";
import { isUnmanaged } from "../../settings/keyed-list";
import type { TenantIdentity } from "../../settings/tenant-identity";
import { acceptingIt, acceptsEmptyTenant } from "../../settings/tenant-people";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";
import { compareWith, isReplacedTenant, replacedReason } from "../targets/replaced-reason";
import type { RememberedTenant } from "../targets/same-tenant";

/** A tenant whose name and stack another tenant of the service had before. */
export interface ReplacedTenant {
  /** A sentence without a full stop. */
  readonly reason: string;
  /** What was read of it. */
  readonly identity: TenantIdentity;
}

/**
 * Why a rollout is refused to a tenant that has the stack of another one, as where a name is used again, or its key was replaced by that of
 * another company; undefined where nothing says so. It holds none of the entries and VIPs that the last rollout read there.
 *
 * @param before what the last rollout read of the stack's tenant.
 */
export async function replacedTenantGuard(
  { name, stack, baseUrl, place }: Target,
  observed: Observed,
  known: KnownLists,
  before: RememberedTenant | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<Guard | undefined> {
  if (before === undefined || acceptsEmptyTenant(environment, name)) return undefined;
  if (!(await isReplacedTenant(before, compareWith(baseUrl, observed)))) return undefined;
  const { rollout } = before;
  const loss = holdsAny(known, observed)
    ? " What that stack declared would be removed from this one, or reported as drift."
    : "";
  const accepting = acceptingIt("where all that it held then was replaced since", environment, name);
  return {
    code: OTHER_TENANT,
    message: `${quote(name)} has the stack ${quote(stack)}, and ${replacedReason(rollout)}.${loss} If the key is wrong, put the tenant's own key in its place. If ${quote(name)} is a new tenant, give it its own stack (\`stack\` in ${quote(place.file, 300)}). ${accepting}`,
  };
}

/** Whether a tenant holds something that a stack declared. */
export function holdsAny(known: KnownLists, observed: Observed): boolean {
  return declaredKeys(known).some(([kind, key]) => observed[kind].has(key));
}

/** Whether a stack declared anything. */
export function declaresAny(known: KnownLists): boolean {
  return declaredKeys(known).length > 0;
}

function declaredKeys(known: KnownLists): readonly (readonly [kind: "entries" | "vips", key: string])[] {
  return (["entries", "vips"] as const).flatMap((kind) =>
    Object.entries(known[kind].content).flatMap(([key, text]) => (isUnmanaged(text) ? [] : [[kind, key] as const])),
  );
}
