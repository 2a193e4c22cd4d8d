import { type Change, changeTransition, type Plan } from "../../plan/plan";
import { sortByDanger, type Transition } from "../../settings/danger";
import { excerpt } from "../../settings/text";
import type { Journal } from "../journal/journal";
import { signatureOf } from "../locks/change-signature";
import type { AgainTakenBack, Minded } from "../locks/rollout-marks";

/** Finds the changes of a plan that an earlier rollback has undone, in whichever tenant that was. */
export async function getReappliedChanges(
  journal: Journal,
  id: string,
  { takenBack }: Minded,
): Promise<readonly AgainTakenBack[]> {
  if (takenBack.length === 0) return [];
  const rollbacks = takenBack.map(({ rollout, by, changes }) => ({
    rollout,
    by,
    changes: new Set(changes),
    tenants: new Set<string>(),
    what: new Map<string, Transition>(),
  }));
  for (const { name } of await journal.tenants(id)) {
    const plan = await journal.plan(id, name);
    const { changes: plannedChanges = [] } = JSON.parse(plan ?? "{}") as Partial<Plan>;
    for (const change of plannedChanges) {
      for (const { changes, tenants, what } of rollbacks) {
        if (!changes.has(signatureOf(change))) continue;
        tenants.add(name);
        what.set(formatReappliedChange(change), changeTransition(change));
      }
    }
  }
  return rollbacks.flatMap(({ rollout, by, tenants, what }) =>
    tenants.size === 0
      ? []
      : [
          {
            ...{ rollout, by, tenants: [...tenants] },
            what: sortByDanger([...what], ([, transition]) => transition).map(([text]) => text),
          },
        ],
  );
}

/** For example: `allow partner.example`, `VIP ceo@acme.example`, `no deny evil.example`. */
function formatReappliedChange({ kind, value, before, after }: Change): string {
  const list = kind === "vip" ? "VIP" : ((after ?? before)?.list ?? "entry");
  return `${after === undefined ? "no " : ""}${list} ${excerpt(value)}`;
}
