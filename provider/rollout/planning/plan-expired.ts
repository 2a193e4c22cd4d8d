import { keptTransition, onlyExpired } from "../../gitops/only-expired";
import { frontOf } from "../../plan/stack-holds";
import { printable } from "../../settings/text";
import { comparedTarget, type PlanTenant, seenIn, targetPlan } from "./plan-target";
import { shortened } from "./shortened";

/**
 * Plans one tenant's part of a rollout that only removes expired entries and VIPs, like `apply --only-expired` for a single tenant. Other
 * changes of the files or the console stay as they are, both at the tenant and in the stack's state. Writes nothing.
 *
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export const planExpired: PlanTenant = async (target, key, context, requestPolicy, runInSlot) => {
  const comparison = await comparedTarget(target, key, context, requestPolicy, runInSlot);
  const { settings, stack, desired, observed, plan: fullPlan } = comparison;
  const { plan, only, targets, kept, pending } = onlyExpired(fullPlan, settings, stack.known, "email-security rollout");
  const unrevertedChanges = [
    ...shortened(kept, keptTransition, (change) => printable(`${change.list ?? "VIP"} ${change.key}: ${change.why}`)),
    ...(pending === 0
      ? []
      : [`${pending === 1 ? "1 other change that is" : `${pending} other changes that are`} pending`]),
  ];
  // Only a full run may move the stack to the other provider.
  const provider = frontOf(stack.state) ?? stack.front;
  return targetPlan(target, plan, { ...stack, front: provider }, targets.length === 0, context, {
    ...seenIn(target, desired, observed, plan),
    ...(targets.length === 0 ? {} : { only: { ...only, targets } }),
    ...(unrevertedChanges.length === 0 ? {} : { left: unrevertedChanges }),
  });
};
