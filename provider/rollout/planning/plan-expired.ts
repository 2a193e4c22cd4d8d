import { keptTransition, onlyExpired } from "../../gitops/only-expired";
import { frontOf } from "../../plan/stack-holds";
import { printable } from "../../settings/text";
import { comparedTarget, type PlanTenant, seenIn, targetPlan } from "./plan-target";
import { shortened } from "./shortened";

/**
 * Plans one tenant's part of a rollout that only takes away what has ended, as `apply --only-expired` does for one: what else the
 * files or the console changed stays as it is, at the tenant and in the stack's state. Writes nothing.
 *
 * @throws whatever keeps it from being planned; that is this tenant's own, or its address's.
 */
export const planExpired: PlanTenant = async (target, key, context, asking, atPlace) => {
  const compared = await comparedTarget(target, key, context, asking, atPlace);
  const { settings, stack, desired, observed, plan: whole } = compared;
  const { plan, only, targets, kept, pending } = onlyExpired(
    whole,
    settings,
    stack.known,
    "email-security rollout",
  );
  const left = [
    ...shortened(kept, keptTransition, (one) => printable(`${one.list ?? "VIP"} ${one.key}: ${one.why}`)),
    ...(pending === 0
      ? []
      : [`${pending === 1 ? "1 other change that is" : `${pending} other changes that are`} pending`]),
  ];
  // A move to the other front is a whole run's.
  const front = frontOf(stack.state) ?? stack.front;
  return targetPlan(target, plan, { ...stack, front }, targets.length === 0, context, {
    ...seenIn(target, desired, observed),
    ...(targets.length === 0 ? {} : { only: { ...only, targets } }),
    ...(left.length === 0 ? {} : { left }),
  });
};
