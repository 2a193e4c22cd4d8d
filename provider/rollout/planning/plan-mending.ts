import { onlyExpired } from "../../gitops/only-expired";
import { type Change, changeTransition, type Plan } from "../../plan/plan";
import { isApplied } from "../../plan/stack-holds";
import { otherTenantGuards } from "../../plan/withheld";
import { inverse } from "../../settings/danger";
import { excerpt, printable } from "../../settings/text";
import { comparedTarget, type PlanTenant, seenIn, targetPlan } from "./plan-target";
import { shortened } from "./shortened";
import { whyNotMended } from "./why-not-mended";

/**
 * Plans one tenant's part of a rollout that reverts drift. If the files declare the same as the stack's last run, according to its state,
 * every difference is drift. If they declare anything else, nothing is reverted, because somebody has to review a change of the files.
 * Writes nothing.
 *
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export const planMending: PlanTenant = async (target, key, context, requestPolicy, runInSlot) => {
  const comparison = await comparedTarget(target, key, context, requestPolicy, runInSlot);
  const { settings, stack, desired, observed, host, plan } = comparison;
  const isUpToDate = isApplied(stack.state, desired, host, stack.front);
  const unmanagedCount = plan.unmanaged.length;
  const hasDifferences = plan.changes.length + unmanagedCount > 0;
  const { kept } = onlyExpired(plan, settings, stack.known);
  const blockReason = hasDifferences ? whyNotMended(settings, desired, stack.known, isUpToDate, kept) : undefined;
  const isReverted = blockReason === undefined && plan.changes.length > 0;
  const unrevertedChanges = [
    ...(blockReason === undefined ? [] : [blockReason]),
    ...(unmanagedCount === 0
      ? []
      : [
          `${unmanagedCount} at the tenant that nobody declares${isUpToDate ? ": left, as by every rollout of these files" : ""}`,
        ]),
  ];
  return targetPlan(target, isReverted ? plan : buildEmptyPlan(plan), stack, !isReverted, context, {
    ...seenIn(target, desired, observed, plan),
    ...(isReverted
      ? { drift: shortened(plan.changes, (change) => inverse(changeTransition(change)), formatDriftChange) }
      : {}),
    ...(unrevertedChanges.length === 0 ? {} : { left: unrevertedChanges }),
  });
};

/** Removes the changes from a plan. The guards against another tenant's key stay, because they still have to end the rollout. */
function buildEmptyPlan(plan: Plan): Plan {
  return {
    ...plan,
    changes: [],
    guards: otherTenantGuards(plan),
    counts: { ...plan.counts, added: 0, changed: 0, removed: 0 },
  };
}

/** Describes what somebody changed at the tenant, with the author and the time if the service reports them. */
function formatDriftChange({ sign, kind, value, before, after, why }: Change): string {
  const list = kind === "vip" ? "VIP" : ((before ?? after)?.list ?? "entry");
  const { by, at } = before ?? {};
  const origin =
    by === undefined && at === undefined
      ? "who made it, the service does not tell"
      : `made${by === undefined ? "" : ` by ${excerpt(by)}`}${at === undefined ? "" : ` on ${excerpt(at, 40)}`}`;
  const action = sign === "remove" ? `added at the tenant, ${origin}` : (why ?? "not as declared at the tenant");
  const currentOrigin = sign === "change" && by !== undefined ? `; what is there was ${origin}` : "";
  return printable(`${list} ${excerpt(value, 300)}: ${action}${currentOrigin}`);
}
