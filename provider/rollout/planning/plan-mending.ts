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
 * Plans one tenant's part of a rollout that reverts what the console changed. That is all that differs where the files say what
 * the stack's last run declared, by its state; where they say anything else, nothing is reverted: a change of the files is
 * brought by who looks at it. Writes nothing.
 *
 * @throws whatever keeps it from being planned; that is this tenant's own, or its address's.
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

/** A plan of nothing. That the key is another tenant's ends the rollout all the same. */
function untouched(plan: Plan): Plan {
  return {
    ...plan,
    changes: [],
    guards: otherTenantGuards(plan),
    counts: { ...plan.counts, added: 0, changed: 0, removed: 0 },
  };
}

/** What was done at the tenant, by whom and when, as far as the service tells. */
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
