import { invertTransition, sortByDanger } from "../../model/danger";
import { isSameEntryState } from "../../model/entry-fields";
import type { TenantIdentity } from "../../model/tenant-identity";
import { quote } from "../../model/text";
import { getObservedIdentity, type ObservedState } from "../../plan/observed-state";
import { getChangeTransition, type Plan, type PlanChange } from "../../plan/plan";
import { readUntil } from "../../tenant";
import type { Target } from "../model/target";
import type { RequestContext } from "../probing/target-client";
import { readTenantLists } from "./plan-target";
/**
 * Reads a tenant again after its run, and lists the changes of its plan that did not take effect. Empty if all of them
 * did.
 */
export async function verifyPlan(
  target: Target,
  key: string,
  plan: Plan,
  requestContext: RequestContext,
): Promise<{ readonly mismatches: readonly string[]; readonly identity?: TenantIdentity }> {
  if (plan.changes.length === 0) return { mismatches: [] };
  // The lists may lag behind recent writes.
  return await readUntil(
    async () => {
      const { observed } = await readTenantLists(target, key, requestContext);
      return {
        mismatches: listUnappliedChanges(plan, observed),
        identity: getObservedIdentity(target.baseUrl, observed),
      };
    },
    ({ mismatches }) => mismatches.length === 0,
  );
}

/** Lists the changes of a plan that an observed tenant lacks. The most dangerous come first, such as a missing deny. */
export function listUnappliedChanges({ changes }: Plan, observed: ObservedState): readonly string[] {
  return sortByDanger(
    changes.filter((change) => !isChangeApplied(change, observed)),
    (change) => invertTransition(getChangeTransition(change)),
  ).map(({ operation, value }) => `${quote(value)} ${UNAPPLIED_TEXTS[operation]}`);
}

const UNAPPLIED_TEXTS = {
  add: "is missing",
  change: "has other values than declared",
  remove: "still exists",
} as const;

function isChangeApplied({ kind, key, after }: PlanChange, { entries, vips }: ObservedState): boolean {
  const vip = vips.get(key);
  const rows = kind === "entry" ? (entries.get(key) ?? []) : vip === undefined ? [] : [vip];
  if (after === undefined) return rows.length === 0;
  return rows.some((row) => isSameEntryState(row, after));
}
