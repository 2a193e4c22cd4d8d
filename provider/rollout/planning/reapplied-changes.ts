import { sortByDanger, type Transition } from "../../model/danger";
import { excerpt } from "../../model/text";
import { getChangeTransition, type Plan, type PlanChange } from "../../plan/plan";
import type { Journal } from "../journal/journal";
import { getChangeSignature } from "../locks/change-signature";
import type { LockSummary, ReappliedChanges } from "../locks/rollout-locks";

/** Finds the changes of a plan that an earlier rollback has undone, in whichever tenant that was. */
export async function getReappliedChanges(
  journal: Journal,
  id: string,
  { rolledBack }: LockSummary,
): Promise<readonly ReappliedChanges[]> {
  if (rolledBack.length === 0) return [];
  const rollbacks = rolledBack.map(({ rollout, by, changes }) => ({
    rollout,
    by,
    changes: new Set(changes),
    tenants: new Set<string>(),
    transitions: new Map<string, Transition>(),
  }));
  for (const { name } of await journal.listTenants(id)) {
    const plan = await journal.readPlan(id, name);
    const { changes: plannedChanges = [] } = JSON.parse(plan ?? "{}") as Partial<Plan>;
    for (const change of plannedChanges) {
      for (const { changes, tenants, transitions } of rollbacks) {
        if (!changes.has(getChangeSignature(change))) continue;
        tenants.add(name);
        transitions.set(formatReappliedChange(change), getChangeTransition(change));
      }
    }
  }
  return rollbacks.flatMap(({ rollout, by, tenants, transitions }) =>
    tenants.size === 0
      ? []
      : [
          {
            ...{ rollout, by, tenants: [...tenants] },
            changes: sortByDanger([...transitions], ([, transition]) => transition).map(([text]) => text),
          },
        ],
  );
}

/** For example: `allow partner.example`, `VIP ceo@acme.example`, `no deny evil.example`. */
function formatReappliedChange({ kind, value, before, after }: PlanChange): string {
  const list = kind === "vip" ? "VIP" : ((after ?? before)?.list ?? "entry");
  return `${after === undefined ? "no " : ""}${list} ${excerpt(value)}`;
}
