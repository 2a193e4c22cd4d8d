import { identityOfObserved, type Observed } from "../../plan/observed";
import { type Change, changeTransition, type Plan } from "../../plan/plan";
import { inverse, sortByDanger } from "../../settings/danger";
import { isSameStanding } from "../../settings/entry-fields";
import type { TenantIdentity } from "../../settings/tenant-identity";
import { quote } from "../../settings/text";
import { readUntil } from "../../tenant";
import type { Target } from "../model/target";
import type { Reach } from "../probing/target-client";
import { readTenant } from "./plan-target";
/**
 * Reads a tenant again after its run, and answers what of its plan is not as it was to be; empty when all is.
 *
 * @param reviewed the plan that the run was held to.
 */
export async function notAsPlanned(
  target: Target,
  key: string,
  plan: Plan,
  reach: Reach,
): Promise<{ readonly left: readonly string[]; readonly identity?: TenantIdentity }> {
  if (plan.changes.length === 0) return { left: [] };
  // The lists may lag behind what was just written.
  return await readUntil(
    async () => {
      const { observed } = await readTenant(target, key, reach);
      return { left: undoneOf(plan, observed), identity: identityOfObserved(target.baseUrl, observed) };
    },
    ({ left }) => left.length === 0,
  );
}

/** The same of a tenant that was read; the most dangerous first, such as a deny that is not there. */
export function undoneOf({ changes }: Plan, observed: Observed): readonly string[] {
  return sortByDanger(
    changes.filter((change) => !isDone(change, observed)),
    (change) => inverse(changeTransition(change)),
  ).map(({ sign, value }) => `${quote(value)} is not ${DONE[sign]}`);
}

const DONE = { add: "there as declared", change: "as declared", remove: "gone" } as const;

function isDone({ kind, key, after }: Change, { entries, vips }: Observed): boolean {
  const vip = vips.get(key);
  const rows = kind === "entry" ? (entries.get(key) ?? []) : vip === undefined ? [] : [vip];
  if (after === undefined) return rows.length === 0;
  return rows.some((row) => isSameStanding(row, after));
}
