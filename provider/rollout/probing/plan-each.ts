import PQueue from "p-queue";
import { eachAtOnce } from "../../settings/at-once";
import type { Target } from "../model/target";
import type { FailureTally } from "../targets/tolerance";
import type { AddressHealth, Asking } from "./address-health";

/** How planning went for one tenant: a plan, or why there is none. */
export type Outcome<Plan> =
  | { readonly plan: Plan; readonly error?: undefined }
  | { readonly plan?: undefined; readonly error: unknown };

/** Does a work when a place is free. */
export type AtPlace = <T>(work: () => Promise<T>) => Promise<T>;

export interface PlanEachOptions<Plan> {
  readonly addresses: AddressHealth;
  /** How many tenants are planned at once. */
  readonly concurrency: number;
  /** Counts those that fail, and knows those that did before. */
  readonly tally: FailureTally;
  /** Ends the planning, with its reason; whoever plans hears of it too. */
  readonly signal: AbortSignal;
  /** Called when more have failed than is tolerated; it ends the planning by the signal. */
  readonly end: () => void;
  /** @param atPlace for what takes a process of its own. @throws the signal's reason, or why the tenant can't be planned. */
  readonly plan: (target: Target, asking: Asking, atPlace: AtPlace) => Promise<Plan>;
  /** Told of each tenant once; not of those that the end of the planning cut short. */
  readonly settled: (target: Target, outcome: Outcome<Plan>) => Promise<void>;
}

/** So many service addresses are planned at once: those that may be waited for beside those that answer. */
const ADDRESSES_AT_ONCE = 32;

/**
 * Plans tenants, each address by itself: so many at once over all those that are known to answer. Who asks an address of which
 * that is not known takes no place, but for the processes that it needs: it may have to wait for long, and others need not.
 *
 * Ends early when more have failed than is tolerated. The tenants of an address that is down are told of all the same: they
 * cost nothing any more.
 */
export async function planEach<Plan>(
  targets: readonly Target[],
  { addresses, concurrency, tally, signal, end, plan, settled }: PlanEachOptions<Plan>,
): Promise<void> {
  // The first by itself: whoever opens a new PostgreSQL backend first makes Pulumi's table there, and fails when two do so at once.
  const places = new PQueue({ concurrency: 1 });
  const atPlace: AtPlace = async (work) => {
    try {
      return await places.add(async () => {
        signal.throwIfAborted();
        return await work();
      });
    } finally {
      places.concurrency = concurrency;
    }
  };
  const planOne = (target: Target, asking: Asking): Promise<Plan> => {
    signal.throwIfAborted();
    if (!asking.isKnown) return plan(target, asking, atPlace);
    return atPlace(async () => await plan(target, asking, (work) => work()));
  };
  const settle = async (target: Target): Promise<void> => {
    if (signal.aborted && !addresses.isDown(target)) return;
    const outcome = await addresses
      .ask(target, async (asking) => await planOne(target, asking))
      .then(
        (made): Outcome<Plan> => ({ plan: made }),
        (error: unknown): Outcome<Plan> => ({ error }),
      );
    if (signal.aborted && outcome.error === signal.reason) return;
    if (outcome.plan === undefined) tally.add(target.name);
    if (tally.over.length > 0 && !signal.aborted) end();
    await settled(target, outcome);
  };
  if (tally.over.length > 0) return end();
  const lanes = Map.groupBy(targets, ({ baseUrl }) => baseUrl).values();
  await eachAtOnce(lanes, ADDRESSES_AT_ONCE, async (lane) => await eachAtOnce(lane, concurrency, settle));
}
