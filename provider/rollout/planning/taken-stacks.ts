import type { Guard } from "../../plan/plan";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Database } from "../database/database";
import { reachedIn } from "../journal/reached";
import type { Target } from "../model/target";
import type { Asking } from "../probing/address-health";
import { stackCommands } from "../stack/stack-command";
import { comparedTarget, type PlanningContext, seenIn, stackOf } from "./plan-target";
import { findFormerStack, type OrphanedStack, renamedTenantGuard } from "./renamed-tenant";

/** What the planning of all tenants says of their stacks. */
export interface PlannedStacks {
  /** The tenants whose stacks are new. */
  readonly newcomers: readonly Target[];
  /** The tenants that lack something of what their stack declared, and how much they hold. */
  readonly partlyHeld: ReadonlyMap<Target, number>;
  readonly context: PlanningContext;
  readonly database: Database;
  /** The state backend, as `stateBackend` fingerprints it. */
  readonly backend: string;
}

/** Reads a tenant again. */
export type CompareTenant = (key: string, asking: Asking) => Promise<Guard | undefined>;

/**
 * Looks for tenants whose former stack is that of another tenant now, since the targets file gives the former name to that one: each
 * tenant with a new stack is read again and compared with the stacks of those that lack what their stack declared. Where there is no
 * tenant of either kind, nothing is read.
 *
 * @param ask called for each tenant that is to be compared, one after the other.
 */
export async function eachTakenStack(
  { newcomers, partlyHeld, context, database, backend }: PlannedStacks,
  ask: (target: Target, compare: CompareTenant) => Promise<void>,
): Promise<void> {
  if (newcomers.length === 0 || partlyHeld.size === 0) return;
  const { project } = context;
  const stacks = [...partlyHeld.keys()].map(({ stack }) => stack);
  const reached = await reachedIn(database, { project, backend, stacks });
  const taken: OrphanedStack[] = [];
  for (const [target, held] of partlyHeld) {
    const { known } = await stackOf(target, context);
    const last = reached.stacks.get(target.stack)?.last;
    taken.push({
      stack: target.stack,
      takenBy: { name: target.name, held },
      known,
      ...withoutUndefined({ last }),
    });
  }
  for (const target of newcomers) {
    await ask(target, async (key, asking) => {
      const { desired, observed } = await comparedTarget(
        target,
        key,
        context,
        asking,
        async (work) => await work(),
      );
      const { identity } = seenIn(target, desired, observed);
      const former = findFormerStack({ target, desired, observed, identity }, taken);
      return former && renamedTenantGuard(target, former, await stackCommands(context));
    });
  }
}
