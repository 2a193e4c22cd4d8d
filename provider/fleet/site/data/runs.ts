import { z } from "zod";
import { type FleetStatus, STANDINGS } from "../../status/status-schema";

/** The version of the format of {@link SiteRun}. */
const RUN_FORMAT = 1;

const count = z.int().min(0);

const runSchema = z
  .strictObject({
    format: z.literal(RUN_FORMAT),
    /** When the reading began (ISO 8601, UTC). */
    at: z.iso.datetime(),
    tenants: count,
    standings: z.partialRecord(z.enum(STANDINGS), count).readonly(),
    /** How many entries have drifted, in all tenants. */
    drift: count,
    /** What ends soon, what has ended, what is to be reviewed: each once, however many tenants have it. */
    ends: count,
    over: count,
    reviews: count,
    /** The names of the tenants that were not in step, as far as there is room. */
    off: z.partialRecord(z.enum(STANDINGS), z.array(z.string().max(100)).readonly()).readonly(),
  })
  .readonly();

/** What is kept of one run of `fleet site`, for what it tells over time. */
export type SiteRun = z.output<typeof runSchema>;

/** So many tenants that are not in step are kept by name: what is small stays small. */
const MOST_NAMED = 1_000;

/** What is kept of a reading. */
export function runOf({ at, tenants, ends, reviews }: FleetStatus): SiteRun {
  const named = tenants.filter(({ standing }) => standing !== "in-step").slice(0, MOST_NAMED);
  const byStanding = Map.groupBy(tenants, ({ standing }) => standing);
  return {
    format: RUN_FORMAT,
    at,
    tenants: tenants.length,
    standings: Object.fromEntries([...byStanding].map(([standing, some]) => [standing, some.length])),
    drift: tenants.reduce((sum, { drift }) => sum + drift.length, 0),
    ends: ends.filter(({ isOver }) => !isOver).length,
    over: ends.filter(({ isOver }) => isOver).length,
    reviews: reviews.length,
    off: Object.fromEntries(
      [...Map.groupBy(named, ({ standing }) => standing)].map(([standing, some]) => [
        standing,
        some.map(({ name }) => name),
      ]),
    ),
  };
}

/** Reads what was kept; undefined where it is not what a run writes, as what another release or somebody else left. */
export function readRun(text: string): SiteRun | undefined {
  try {
    return runSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Of so many days all runs are kept, and of each day before the last one. */
const WHOLE_DAYS = 7;
/** So many of these: they are counted, and not by their age, so that a clock that is wrong once takes none away. */
const KEPT_DAYS = 400;

/** The runs that stay once there is one more, the oldest first: all of a week, then the last of each day, 400 of them. */
export function keptRuns(runs: readonly SiteRun[], run: SiteRun): readonly SiteRun[] {
  const byTime = [...runs, run].sort((one, other) => (one.at < other.at ? -1 : 1));
  const isRecent = ({ at }: SiteRun): boolean => Date.parse(run.at) - Date.parse(at) <= WHOLE_DAYS * DAY_MS;
  const daily = byTime.filter(
    (one, index) => !isRecent(one) && byTime[index + 1]?.at.slice(0, 10) !== one.at.slice(0, 10),
  );
  return [...daily.slice(-KEPT_DAYS), ...byTime.filter(isRecent)];
}

/** The name of the file that keeps a run: `2026-11-23T09-00-00-000Z.json`. */
export function runFile({ at }: SiteRun): string {
  return `${at.replaceAll(/[:.]/g, "-")}.json`;
}

/** The first of the runs, up to the last one, through which a tenant stood as it does in that; undefined where it was in step. */
export function sinceWhen(name: string, runs: readonly SiteRun[]): SiteRun | undefined {
  const standingIn = ({ off }: SiteRun) =>
    STANDINGS.find((standing) => off[standing]?.includes(name) === true);
  const last = runs.at(-1);
  const now = last && standingIn(last);
  if (now === undefined) return undefined;
  const before = runs.findLastIndex((run) => standingIn(run) !== now);
  return runs[before + 1];
}
