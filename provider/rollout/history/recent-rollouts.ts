import { omitUndefined } from "../../model/omit-undefined";
import type { Database } from "../database/database";
import { JournalReader } from "../journal/journal-reader";
import { compareRollouts, type RolloutOrder } from "../journal/rollout-order";
import type { RolloutScope } from "../journal/rollout-record";
import type { RolloutDetails } from "../model/history-schema";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import type { TenantState } from "../model/wave";
import { buildReportWithoutAdvice } from "../report/build-rollout-report";
import { readRolloutDetails } from "./rollout-details";

/** The newest rollouts of a project, and the outcome of each stack in them. */
export interface RecentRollouts {
  /** Newest first. */
  readonly rollouts: readonly RolloutDetails[];
  /** The outcomes by stack name, newest first. */
  readonly stacks: ReadonlyMap<string, readonly StackOutcome[]>;
  readonly older: number;
}

/** The newest rollouts in one journal. */
export interface JournalRollouts extends RecentRollouts {
  readonly order: ReadonlyMap<string, RolloutOrder>;
}

export interface StackOutcome {
  readonly rollout: string;
  readonly wave: string;
  readonly state: TenantState;
  /** ISO 8601, in UTC. */
  readonly time: string;
  readonly planned: TenantReport["planned"];
  readonly code?: string;
}

/** The maximum number of tenants to read. A rollout of 10,000 tenants must not be read a hundred times. */
const MAX_TENANTS = 60_000;

export interface RecentRolloutLimits {
  /** The maximum number of rollouts. Default: 100. */
  readonly maxRollouts?: number;
  /**
   * The maximum number of plans, newest first; reading a plan takes up to a millisecond. The remaining rollouts show only the changes of
   * their summaries. Default: 5,000.
   */
  readonly maxPlans?: number;
}

/**
 * Reads the newest rollouts of a project that have begun.
 *
 * @throws {JournalError} if the journal can't be read.
 */
export async function readRecentRollouts(
  database: Database,
  { project, backend }: RolloutScope,
  { maxRollouts = 100, maxPlans = 5_000 }: RecentRolloutLimits = {},
): Promise<JournalRollouts> {
  const journal = new JournalReader(database);
  const records = (await journal.listRollouts()).filter(
    ({ spec }) => spec.project === project && (backend ?? spec.backend) === spec.backend,
  );
  const rollouts: RolloutDetails[] = [];
  const stacks = new Map<string, StackOutcome[]>();
  let [tenants, plans] = [0, 0];
  const order = new Map<string, RolloutOrder>();
  for (const { id, seq, startedAtMs, state } of records.slice(0, maxRollouts)) {
    if (tenants > MAX_TENANTS) break;
    const isLocked = state === "running" && (await database.isLocked(`rollout-${id}`));
    const report = await buildReportWithoutAdvice(journal, id, isLocked);
    tenants += report.tenants.length;
    const planned = report.tenants.filter(({ changes }) => changes.length > 0).length;
    const includesPlans = plans + planned <= maxPlans;
    if (includesPlans) plans += planned;
    order.set(id, { id, seq, startedAtMs });
    rollouts.push(await readRolloutDetails(journal, report, includesPlans));
    for (const tenant of report.tenants) {
      const outcomes = stacks.get(tenant.stack) ?? [];
      stacks.set(tenant.stack, outcomes);
      outcomes.push(buildStackOutcome(report, tenant));
    }
  }
  return { rollouts, order, stacks, older: records.length - rollouts.length };
}

function buildStackOutcome(
  { id, createdAt, startedAt }: RolloutReport,
  { wave, state, planned, error, startedAt: tenantStartedAt, finishedAt }: TenantReport,
): StackOutcome {
  return {
    rollout: id,
    ...{ wave, state, planned },
    // A tenant without changes never begins, so it gets the time of its rollout.
    time: finishedAt ?? tenantStartedAt ?? startedAt ?? createdAt,
    ...omitUndefined({ code: error?.code }),
  };
}

/**
 * Merges the newest rollouts of several journals, such as one per region. Rollouts of one journal, or of the same stack,
 * keep the order in which they started, whatever the clocks of their machines showed. Only the start times order others.
 */
export function mergeRecentRollouts(journals: readonly JournalRollouts[]): RecentRollouts {
  const order = new Map(journals.flatMap((journal) => [...journal.order]));
  const getOrder = (id: string): RolloutOrder => order.get(id) ?? { id, seq: undefined, startedAtMs: undefined };
  const compareNewestFirst = (a: string, b: string): number => compareRollouts(getOrder(b), getOrder(a));
  // One journal may be a copy of another.
  const byId = new Map(
    journals.flatMap(({ rollouts }) => rollouts.map((rollout) => [rollout.report.id, rollout] as const)),
  );
  const oldestFirst = [...byId.keys()].sort((a, b) => compareNewestFirst(b, a));
  const notBeforeMs = new Map<unknown, number>();
  const effectiveTimes = new Map<string, number>();
  for (const id of oldestFirst) {
    const stacks = byId.get(id)?.report.tenants.map(({ stack }) => stack) ?? [];
    const predecessors = [...journals.filter((journal) => journal.order.has(id)), ...stacks];
    const timeMs = Math.max(
      getOrder(id).startedAtMs ?? 0,
      ...predecessors.map((predecessor) => notBeforeMs.get(predecessor) ?? 0),
    );
    effectiveTimes.set(id, timeMs);
    for (const predecessor of predecessors) notBeforeMs.set(predecessor, timeMs);
  }
  const newestFirst = oldestFirst
    .toReversed()
    .sort((a, b) => (effectiveTimes.get(b) ?? 0) - (effectiveTimes.get(a) ?? 0));
  const outcomes = journals.flatMap(({ stacks }) => [...stacks]);
  return {
    rollouts: newestFirst.flatMap((id) => byId.get(id) ?? []),
    stacks: new Map(
      [...Map.groupBy(outcomes, ([stack]) => stack)].map(([stack, entries]) => [
        stack,
        [
          ...new Map(
            entries.flatMap(([, outcomesOfStack]) =>
              outcomesOfStack.map((outcome) => [outcome.rollout, outcome] as const),
            ),
          ).values(),
        ].sort((a, b) => compareNewestFirst(a.rollout, b.rollout)),
      ]),
    ),
    older: journals.reduce((count, { older }) => count + older, 0),
  };
}
