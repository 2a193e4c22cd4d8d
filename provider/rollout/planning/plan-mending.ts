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
export const planMending: PlanTenant = async (target, key, context, asking, atPlace) => {
  const compared = await comparedTarget(target, key, context, asking, atPlace);
  const { settings, stack, desired, observed, host, plan } = compared;
  const isAsBrought = isApplied(stack.state, desired, host, stack.front);
  const others = plan.unmanaged.length;
  const differs = plan.changes.length + others > 0;
  const { kept } = onlyExpired(plan, settings, stack.known);
  const why = differs ? whyNotMended(settings, desired, stack.known, isAsBrought, kept) : undefined;
  const isMended = why === undefined && plan.changes.length > 0;
  const left = [
    ...(why === undefined ? [] : [why]),
    ...(others === 0
      ? []
      : [
          `${others} at the tenant that nobody declares${isAsBrought ? ": left, as by every rollout of these files" : ""}`,
        ]),
  ];
  return targetPlan(target, isMended ? plan : untouched(plan), stack, !isMended, context, {
    ...seenIn(target, desired, observed),
    ...(isMended
      ? { drift: shortened(plan.changes, (change) => inverse(changeTransition(change)), driftText) }
      : {}),
    ...(left.length === 0 ? {} : { left }),
  });
};

/** Removes the changes from a plan. The guards against another tenant's key stay, because they still have to end the rollout. */
function untouched(plan: Plan): Plan {
  return {
    ...plan,
    changes: [],
    guards: otherTenantGuards(plan),
    counts: { ...plan.counts, added: 0, changed: 0, removed: 0 },
  };
}

/** Describes what somebody changed at the tenant, with the author and the time if the service reports them. */
function driftText({ sign, kind, value, before, after, why }: Change): string {
  const list = kind === "vip" ? "VIP" : ((before ?? after)?.list ?? "entry");
  const { by, at } = before ?? {};
  const made =
    by === undefined && at === undefined
      ? "who made it, the service does not tell"
      : `made${by === undefined ? "" : ` by ${excerpt(by)}`}${at === undefined ? "" : ` on ${excerpt(at, 40)}`}`;
  const done = sign === "remove" ? `added at the tenant, ${made}` : (why ?? "not as declared at the tenant");
  const there = sign === "change" && by !== undefined ? `; what is there was ${made}` : "";
  return printable(`${list} ${excerpt(value, 300)}: ${done}${there}`);
}
