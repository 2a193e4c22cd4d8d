import { isUnmanaged } from "../../model/encoded-list";
import { formatAcceptAdvice, isEmptyTenantAccepted } from "../../model/mail-domains";
import type { TenantIdentity } from "../../model/tenant-identity";
import { quote } from "../../model/text";
import type { StackLists } from "../../plan/desired-state";
import type { ObservedState } from "../../plan/observed-state";
import type { PlanBlocker } from "../../plan/plan";
import { OTHER_TENANT_CODE } from "../../plan/tenant-mismatch";
import type { Target } from "../model/target";
import type { IdentityRecord } from "../targets/tenant-conflicts";
import {
  createIdentityComparator,
  formatDifferentTenantReason,
  isDifferentTenant,
} from "../targets/tenant-replacement";

export interface ReplacedTenant {
  /** A sentence without a full stop. */
  readonly reason: string;
  readonly identity: TenantIdentity;
}

/**
 * Returns the blocker for a tenant whose stack belongs to another tenant, for example because a name was reused or its
 * key was replaced by another company's. Undefined if nothing indicates that. The tenant then holds none of the entries
 * and VIPs that the last rollout read there.
 *
 * @param before the last rollout's record of the stack's tenant.
 */
export async function findReplacedTenantBlocker(
  { name, stack, baseUrl, place }: Target,
  observed: ObservedState,
  known: StackLists,
  before: IdentityRecord | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<PlanBlocker | undefined> {
  if (before === undefined || isEmptyTenantAccepted(environment, name)) return undefined;
  if (!(await isDifferentTenant(before, createIdentityComparator(baseUrl, observed)))) return undefined;
  const { rollout } = before;
  const loss = holdsAnyDeclaration(known, observed)
    ? " The declarations of that stack would be removed from this tenant, or reported as drift."
    : "";
  const accepting = formatAcceptAdvice("if all of its previous content was replaced", environment, name);
  return {
    code: OTHER_TENANT_CODE,
    message: `${quote(name)} has the stack ${quote(stack)}, and ${formatDifferentTenantReason(rollout)}.${loss} If the key is wrong, replace it with the tenant's own key. If ${quote(name)} is a new tenant, give it its own stack (\`stack\` in ${quote(place.file, 300)}). ${accepting}`,
  };
}

export function holdsAnyDeclaration(known: StackLists, observed: ObservedState): boolean {
  return listDeclaredKeys(known).some(([kind, key]) => observed[kind].has(key));
}

export function hasDeclarations(known: StackLists): boolean {
  return listDeclaredKeys(known).length > 0;
}

function listDeclaredKeys(known: StackLists): readonly (readonly [kind: "entries" | "vips", key: string])[] {
  return (["entries", "vips"] as const).flatMap((kind) =>
    Object.entries(known[kind].content).flatMap(([key, text]) => (isUnmanaged(text) ? [] : [[kind, key] as const])),
  );
}
