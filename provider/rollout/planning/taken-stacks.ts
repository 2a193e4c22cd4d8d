import { identityOfObserved } from "../../plan/observed";
import type { Guard } from "../../plan/plan";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Database } from "../database/database";
import { reachedIn } from "../journal/reached";
import type { Target } from "../model/target";
import type { Asking } from "../probing/address-health";
import { stackCommands } from "../stack/stack-command";
import { comparedTarget, type PlanningContext, stackOf } from "./plan-target";
import { findFormerStack, type OrphanedStack, renamedTenantGuard } from "./renamed-tenant";

/** The stacks of all planned tenants. */
export interface PlannedStacks {
  /** The tenants whose stacks are new. */
  readonly newcomers: readonly Target[];
  /** The tenants that lack a part of their stack's declarations, and how many entries and VIPs they still hold. */
  readonly partlyHeld: ReadonlyMap<Target, number>;
  readonly context: PlanningContext;
  readonly database: Database;
  /** The fingerprint of the state backend, from `stateBackend`. */
  readonly backend: string;
}

/** Reads a tenant again, and compares it with the stacks. */
export type CompareTenant = (key: string, requestPolicy: Asking) => Promise<Guard | undefined>;

/**
 * Finds tenants whose former stack belongs to another tenant now, because the targets file gives the former name to that tenant. Reads each
 * tenant with a new stack again, and compares it with the stacks of tenants that lack a part of their stack's declarations. Reads nothing
 * unless tenants of both kinds exist.
 *
 * @param handleTarget called for each tenant to compare, one after the other.
 */
export async function eachTakenStack(
  { newcomers, partlyHeld, context, database, backend }: PlannedStacks,
  handleTarget: (target: Target, compare: CompareTenant) => Promise<void>,
): Promise<void> {
  if (newcomers.length === 0 || partlyHeld.size === 0) return;
  const { project } = context;
  const stacks = [...partlyHeld.keys()].map(({ stack }) => stack);
  const lastAppliedStacks = await reachedIn(database, { project, backend, stacks });
  const takenStacks: OrphanedStack[] = [];
  for (const [target, matchCount] of partlyHeld) {
    const { known } = await stackOf(target, context);
    const lastApplied = lastAppliedStacks.stacks.get(target.stack)?.last;
    takenStacks.push({
      stack: target.stack,
      takenBy: { name: target.name, held: matchCount },
      known,
      ...withoutUndefined({ last: lastApplied }),
    });
  }
  for (const target of newcomers) {
    await handleTarget(target, async (key, requestPolicy) => {
      const { desired, observed } = await comparedTarget(
        target,
        key,
        context,
        requestPolicy,
        async (task) => await task(),
      );
      const identity = identityOfObserved(target.baseUrl, observed);
      const formerStack = findFormerStack({ target, desired, observed, identity }, takenStacks);
      return formerStack && renamedTenantGuard(target, formerStack, await stackCommands(context));
    });
  }
}
