import PQueue from "p-queue";
import { forEachConcurrently } from "../../model/for-each-concurrently";
import type { Target } from "../model/target";
import type { FailureTally } from "../targets/tolerance";
import type { AddressHealth, RequestPolicy } from "./address-health";

export type PlanningOutcome<Plan> =
  | { readonly plan: Plan; readonly error?: undefined }
  | { readonly plan?: undefined; readonly error: unknown };

export type RunInSlot = <T>(work: () => Promise<T>) => Promise<T>;

export interface PlanAllTargetsOptions<Plan> {
  readonly addresses: AddressHealth;
  /** The maximum number of tenants to plan at once, not counting those of addresses that don't respond. */
  readonly concurrency: number;
  /** The maximum number of processes at once. Default: as many as tenants. */
  readonly processConcurrency?: number;
  /** Counts failed tenants, including earlier ones. */
  readonly tally: FailureTally;
  /** Ends the planning with its reason. Also passed to the planner. */
  readonly signal: AbortSignal;
  /** Called when more tenants failed than is tolerated. It ends the planning through the signal. */
  readonly onToleranceExceeded: () => void;
  /**
   * @param runInSlot runs work that needs its own process. @throws the signal's reason, or why the tenant can't be
   * planned.
   */
  readonly planTarget: (target: Target, requestPolicy: RequestPolicy, runInSlot: RunInSlot) => Promise<Plan>;
  /** Called once per tenant, except for those that the end of the planning interrupted. */
  readonly onSettled: (target: Target, outcome: PlanningOutcome<Plan>) => Promise<void>;
}

/** How many service addresses to plan at once, including slow ones. */
const MAX_CONCURRENT_ADDRESSES = 32;

/**
 * Plans tenants, separately for each address. The concurrency limit covers all addresses that are known to respond. A
 * tenant of an unknown address takes a slot only for the processes that it needs, because it may wait long and would
 * block others.
 *
 * Ends early when more tenants failed than is tolerated. Tenants of an address that is down are still reported, because
 * they need no requests.
 */
export async function planAllTargets<Plan>(
  targets: readonly Target[],
  {
    addresses,
    concurrency,
    processConcurrency = concurrency,
    tally,
    signal,
    onToleranceExceeded,
    planTarget: plan,
    onSettled,
  }: PlanAllTargetsOptions<Plan>,
): Promise<void> {
  const tenantSlots = new PQueue({ concurrency });
  // The first runs alone: the first access to a new PostgreSQL backend creates Pulumi's table, which fails if two do so at once.
  const processSlots = new PQueue({ concurrency: 1 });
  const runInProcessSlot: RunInSlot = async (work) => {
    try {
      return await processSlots.add(async () => {
        signal.throwIfAborted();
        return await work();
      });
    } finally {
      processSlots.concurrency = processConcurrency;
    }
  };
  const planWhenAllowed = (target: Target, requestPolicy: RequestPolicy): Promise<Plan> => {
    signal.throwIfAborted();
    if (!requestPolicy.isKnownHealthy) return plan(target, requestPolicy, runInProcessSlot);
    return tenantSlots.add(async () => {
      signal.throwIfAborted();
      return await plan(target, requestPolicy, runInProcessSlot);
    });
  };
  const settleTarget = async (target: Target): Promise<void> => {
    if (signal.aborted && !addresses.isDown(target)) return;
    const outcome = await addresses
      .run(target, async (requestPolicy) => await planWhenAllowed(target, requestPolicy))
      .then(
        (plan): PlanningOutcome<Plan> => ({ plan: plan }),
        (error: unknown): PlanningOutcome<Plan> => ({ error }),
      );
    if (signal.aborted && outcome.error === signal.reason) return;
    if (outcome.plan === undefined) tally.add(target.name);
    if (tally.exceededTolerances.length > 0 && !signal.aborted) onToleranceExceeded();
    await onSettled(target, outcome);
  };
  if (tally.exceededTolerances.length > 0) return onToleranceExceeded();
  const addressGroups = Map.groupBy(targets, ({ baseUrl }) => baseUrl).values();
  await forEachConcurrently(
    addressGroups,
    MAX_CONCURRENT_ADDRESSES,
    async (group) => await forEachConcurrently(group, concurrency, settleTarget),
  );
}
