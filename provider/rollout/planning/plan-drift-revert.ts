import { buildExpiredRemoval } from "../../gitops/expired-removal";
import { invertTransition } from "../../model/danger";
import { excerpt, sanitizeLine } from "../../model/text";
import { isDesiredStateApplied } from "../../plan/exported-stack";
import { getChangeTransition, type Plan, type PlanChange } from "../../plan/plan";
import { selectWrongTenantBlockers } from "../../plan/plan-redaction";
import { getDriftRevertBlocker } from "./drift-revert-blocker";
import { buildTargetPlan, buildTenantIdentification, preparePlan, type TenantPlanner } from "./plan-target";
import { summarizeByDanger } from "./summarize-by-danger";

/**
 * Plans one tenant's part of a rollout that reverts drift. If the files declare the same as the stack's last run, according to its state,
 * every difference is drift. If they declare anything else, nothing is reverted, because somebody has to review a change of the files.
 * Writes nothing.
 *
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export const planDriftRevert: TenantPlanner = async (target, key, context, requestPolicy, runInSlot) => {
  const comparison = await preparePlan(target, key, context, requestPolicy, runInSlot);
  const { settings, stack, desired, observed, host, plan } = comparison;
  const isUpToDate = isDesiredStateApplied(stack.state, desired, host, stack.provider);
  const unmanagedCount = plan.unmanaged.length;
  const hasDifferences = plan.changes.length + unmanagedCount > 0;
  const { retained } = buildExpiredRemoval(plan, settings, stack.known);
  const blockReason = hasDifferences
    ? getDriftRevertBlocker(settings, desired, stack.known, isUpToDate, retained)
    : undefined;
  const isReverted = blockReason === undefined && plan.changes.length > 0;
  const unrevertedChanges = [
    ...(blockReason === undefined ? [] : [blockReason]),
    ...(unmanagedCount === 0
      ? []
      : [
          `${unmanagedCount} undeclared at the tenant${isUpToDate ? ": unchanged, as in every rollout of these files" : ""}`,
        ]),
  ];
  return buildTargetPlan(target, isReverted ? plan : buildEmptyPlan(plan), stack, !isReverted, context, {
    ...buildTenantIdentification(target, desired, observed, plan),
    ...(isReverted
      ? {
          drift: summarizeByDanger(
            plan.changes,
            (change) => invertTransition(getChangeTransition(change)),
            formatDriftChange,
          ),
        }
      : {}),
    ...(unrevertedChanges.length === 0 ? {} : { unreverted: unrevertedChanges }),
  });
};

/**
 * Removes the changes from a plan. The blockers for a key of another tenant stay, because they must still stop the
 * rollout.
 */
function buildEmptyPlan(plan: Plan): Plan {
  return {
    ...plan,
    changes: [],
    blockers: selectWrongTenantBlockers(plan),
    counts: { ...plan.counts, added: 0, changed: 0, removed: 0 },
  };
}

function formatDriftChange({ operation, kind, value, before, after, reason }: PlanChange): string {
  const list = kind === "vip" ? "VIP" : ((before ?? after)?.list ?? "entry");
  const { createdBy, createdAt } = before ?? {};
  const origin =
    createdBy === undefined && createdAt === undefined
      ? "the service doesn't report the author"
      : `created${createdBy === undefined ? "" : ` by ${excerpt(createdBy)}`}${createdAt === undefined ? "" : ` on ${excerpt(createdAt, 40)}`}`;
  const action =
    operation === "remove" ? `added at the tenant, ${origin}` : (reason ?? "not as declared at the tenant");
  const currentOrigin = operation === "change" && createdBy !== undefined ? `; the current value was ${origin}` : "";
  return sanitizeLine(`${list} ${excerpt(value, 300)}: ${action}${currentOrigin}`);
}
