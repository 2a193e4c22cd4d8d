import { omitUndefined } from "../../model/omit-undefined";
import { getObservedIdentity } from "../../plan/observed-state";
import type { PlanBlocker } from "../../plan/plan";
import type { Database } from "../database/database";
import { readLastApplied } from "../journal/last-applied";
import { selectIdentityRecords } from "../journal/tenant-identity-records";
import type { Target } from "../model/target";
import type { RequestPolicy } from "../probing/address-health";
import { createStackCommands } from "../stack/stack-commands";
import { selectIdentityRecord } from "../targets/tenant-conflicts";
import { type PlanningContext, preparePlan, readTargetStack } from "./plan-target";
import { buildRenamedTenantBlocker, findFormerStack, type OrphanedStack } from "./renamed-tenant";

export interface PlannedStacks {
  readonly newTargets: readonly Target[];
  /** The tenants that lack a part of their stack's declarations, and how many entries and VIPs they still hold. */
  readonly partialMatches: ReadonlyMap<Target, number>;
  readonly context: PlanningContext;
  readonly database: Database;
  readonly backend: string;
}

/** Reads a new tenant again and compares it with the reassigned stacks. Returns a blocker if one of them was its own. */
export type FormerStackCheck = (key: string, requestPolicy: RequestPolicy) => Promise<PlanBlocker | undefined>;

/**
 * Detects tenants whose former stack now belongs to another tenant, because the targets file gave their former name to that tenant. Reads
 * each tenant with a new stack again, and compares it with the stacks whose declarations their tenants only partly have. Reads nothing
 * unless both kinds of tenant exist.
 *
 * @param handleTarget called for each tenant to compare, one after the other.
 */
export async function checkReassignedStacks(
  { newTargets, partialMatches, context, database, backend }: PlannedStacks,
  handleTarget: (target: Target, compare: FormerStackCheck) => Promise<void>,
): Promise<void> {
  if (newTargets.length === 0 || partialMatches.size === 0) return;
  const { project } = context;
  const stacks = [...partialMatches.keys()].map(({ stack }) => stack);
  const lastApplied = await readLastApplied(database, { project, backend, stacks });
  const records = selectIdentityRecords(lastApplied, [], "all");
  const reassignedStacks: OrphanedStack[] = [];
  for (const [target, matchCount] of partialMatches) {
    const { known: knownLists, marker } = await readTargetStack(target, context);
    const { stack } = target;
    const details = {
      last: lastApplied.stacks.get(stack)?.applied,
      record: selectIdentityRecord({ stack }, records.get(stack), marker),
    };
    reassignedStacks.push({
      stack,
      newOwner: { name: target.name, matchCount },
      knownLists,
      ...omitUndefined(details),
    });
  }
  for (const target of newTargets) {
    await handleTarget(target, async (key, requestPolicy) => {
      const { desired, observed } = await preparePlan(
        target,
        key,
        context,
        requestPolicy,
        async (task) => await task(),
      );
      const identity = getObservedIdentity(target.baseUrl, observed);
      const formerStack = findFormerStack({ target, desired, observed, identity }, reassignedStacks);
      return formerStack && buildRenamedTenantBlocker({ target }, formerStack, await createStackCommands(context));
    });
  }
}
