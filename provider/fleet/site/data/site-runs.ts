import { z } from "zod";
import { jsonArray, jsonObject } from "../../../model/json-schema-builders";
import { omitUndefined } from "../../../model/omit-undefined";
import { type FleetStatus, SYNC_STATUSES, type TenantStatus } from "../../status/status-schema";

const RUN_FORMAT = 1;

const count = z.int().min(0);

const runSchema = jsonObject({
  format: z.literal(RUN_FORMAT),
  /** The start of the read (ISO 8601, UTC). */
  readAt: z.iso.datetime(),
  tenants: count,
  syncStatuses: z.partialRecord(z.enum(SYNC_STATUSES), count).readonly(),
  /** The number of drifted entries, in all tenants. */
  drift: count,
  /** The number of entries that expire soon, have expired, or are due for review. Each counts once, however many tenants have it. */
  expiring: count,
  expired: count,
  reviews: count,
  /** The stacks of the tenants that were not in sync, up to a limit. Another tenant may get a name, but not the stack. */
  unsyncedStacks: z.partialRecord(z.enum(SYNC_STATUSES), jsonArray(z.string().max(100))).readonly(),
  /** The `acceptedSeq` of these tenants, by stack. Absent: nobody accepted another tenant there. */
  acceptedSeqs: z.record(z.string().max(100), z.int().min(1)).readonly().exactOptional(),
});

/** The stored results of one run of `fleet site`, for its charts. */
export type SiteRun = z.output<typeof runSchema>;

/** The maximum number of stacks to store, to keep the file small. */
const MAX_STORED_STACKS = 1_000;

/** The stacks of tenants that a run left out, and the run before it. */
interface UnselectedStacks {
  readonly run: SiteRun | undefined;
  readonly stacks: ReadonlySet<string>;
}

/**
 * Extracts the results to store from a fleet status.
 *
 * @param unselected the tenants of the targets file that the read leaves out: they keep their last status. Default: none.
 */
export function buildSiteRun(
  { readAt, tenants, expiring, reviews }: FleetStatus,
  unselected?: UnselectedStacks,
): SiteRun {
  const unsyncedTenants = [
    ...tenants.filter(({ syncStatus }) => syncStatus !== "in-sync"),
    ...listStoredTenants(unselected?.run).filter(({ stack }) => unselected?.stacks.has(stack)),
  ].slice(0, MAX_STORED_STACKS);
  const tenantsByStatus = Map.groupBy(tenants, ({ syncStatus }) => syncStatus);
  const accepted = unsyncedTenants.flatMap(({ stack, acceptedSeq }) =>
    acceptedSeq === undefined ? [] : [[stack, acceptedSeq] as const],
  );
  return {
    format: RUN_FORMAT,
    readAt,
    tenants: tenants.length,
    syncStatuses: Object.fromEntries([...tenantsByStatus].map(([syncStatus, members]) => [syncStatus, members.length])),
    drift: tenants.reduce((sum, { drift }) => sum + drift.length, 0),
    expiring: expiring.filter(({ isExpired }) => !isExpired).length,
    expired: expiring.filter(({ isExpired }) => isExpired).length,
    reviews: reviews.length,
    unsyncedStacks: Object.fromEntries(
      [...Map.groupBy(unsyncedTenants, ({ syncStatus }) => syncStatus)].map(([syncStatus, members]) => [
        syncStatus,
        members.map(({ stack }) => stack),
      ]),
    ),
    ...(accepted.length === 0 ? {} : { acceptedSeqs: Object.fromEntries(accepted) }),
  };
}

/** Lists the tenants that were not in sync in a run. */
function listStoredTenants(
  run: SiteRun | undefined,
): readonly Pick<TenantStatus, "stack" | "syncStatus" | "acceptedSeq">[] {
  const accepted = new Map(Object.entries(run?.acceptedSeqs ?? {}));
  return SYNC_STATUSES.flatMap((syncStatus) =>
    (run?.unsyncedStacks[syncStatus] ?? []).map((stack) => ({
      stack,
      syncStatus,
      ...omitUndefined({ acceptedSeq: accepted.get(stack) }),
    })),
  );
}

/** Reads the stored results of a run. Undefined if the file has another format, for example from another release. */
export function parseSiteRun(text: string): SiteRun | undefined {
  try {
    return runSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const DAY_MS = 24 * 60 * 60 * 1_000;
/** The number of days for which all runs are kept. For earlier days, only the last run of each day is kept. */
const FULL_HISTORY_DAYS = 7;
/**
 * The number of earlier days for which a run is kept. Counts the days instead of using their age, so that a wrong clock
 * doesn't delete any.
 */
const MAX_DAILY_RUNS = 400;

/**
 * Returns the runs to keep when one more is added, oldest first: all of the last 7 days, and the last one of each of the 400 days before.
 */
export function selectRetainedRuns(runs: readonly SiteRun[], run: SiteRun): readonly SiteRun[] {
  const byTime = [...runs, run].sort((a, b) => (a.readAt < b.readAt ? -1 : 1));
  const isRecent = ({ readAt }: SiteRun): boolean =>
    Date.parse(run.readAt) - Date.parse(readAt) <= FULL_HISTORY_DAYS * DAY_MS;
  const daily = byTime.filter(
    (candidate, index) =>
      !isRecent(candidate) && byTime[index + 1]?.readAt.slice(0, 10) !== candidate.readAt.slice(0, 10),
  );
  return [...daily.slice(-MAX_DAILY_RUNS), ...byTime.filter(isRecent)];
}

/** Returns the file name of a stored run: `2026-11-23T09-00-00-000Z.json`. */
export function getRunFileName({ readAt }: SiteRun): string {
  return `${readAt.replaceAll(/[:.]/g, "-")}.json`;
}

/**
 * Returns the first of the latest consecutive runs in which a tenant had the same status as in the last one. Undefined
 * if it was in sync. Runs of another tenant that had the stack before don't count.
 */
export function findStatusStart(stack: string, runs: readonly SiteRun[]): SiteRun | undefined {
  const getRunStatus = ({ unsyncedStacks }: SiteRun) =>
    SYNC_STATUSES.find((syncStatus) => unsyncedStacks[syncStatus]?.includes(stack) === true);
  const getAccepted = ({ acceptedSeqs = {} }: SiteRun) =>
    Object.hasOwn(acceptedSeqs, stack) ? acceptedSeqs[stack] : undefined;
  const last = runs.at(-1);
  const currentStatus = last && getRunStatus(last);
  if (last === undefined || currentStatus === undefined) return undefined;
  const acceptedSeq = getAccepted(last);
  const previousIndex = runs.findLastIndex(
    (run) => getRunStatus(run) !== currentStatus || getAccepted(run) !== acceptedSeq,
  );
  return runs[previousIndex + 1];
}
