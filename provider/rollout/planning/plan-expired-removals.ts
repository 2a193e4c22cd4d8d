import { buildExpiredRemoval, getRetainedTransition } from "../../gitops/expired-removal";
import { sanitizeLine } from "../../model/text";
import { getStackProvider } from "../../plan/exported-stack";
import { buildTargetPlan, buildTenantIdentification, preparePlan, type TenantPlanner } from "./plan-target";
import { summarizeByDanger } from "./summarize-by-danger";

/**
 * Plans one tenant's part of a rollout that only removes expired entries and VIPs, like `apply --only-expired` for a single tenant. Other
 * changes of the files or the console stay as they are, both at the tenant and in the stack's state. Writes nothing.
 *
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export const planExpiredRemovals: TenantPlanner = async (target, key, context, requestPolicy, runInSlot) => {
  const comparison = await preparePlan(target, key, context, requestPolicy, runInSlot);
  const { settings, stack, desired, observed, plan: fullPlan } = comparison;
  const { plan, only, targets, retained, pending } = buildExpiredRemoval(
    fullPlan,
    settings,
    stack.known,
    "email-security rollout",
  );
  const unrevertedChanges = [
    ...summarizeByDanger(retained, getRetainedTransition, (change) =>
      sanitizeLine(`${change.list ?? "VIP"} ${change.key}: ${change.reason}`),
    ),
    ...(pending === 0
      ? []
      : [`${pending === 1 ? "1 other change that is" : `${pending} other changes that are`} pending`]),
  ];
  // Only a full run may move the stack to the other provider.
  const provider = getStackProvider(stack.state) ?? stack.provider;
  return buildTargetPlan(target, plan, { ...stack, provider }, targets.length === 0, context, {
    ...buildTenantIdentification(target, desired, observed, plan),
    ...(targets.length === 0 ? {} : { only: { ...only, targets } }),
    ...(unrevertedChanges.length === 0 ? {} : { unreverted: unrevertedChanges }),
  });
};
