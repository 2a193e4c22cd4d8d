import { parseInstant } from "../../../plan/mail-records";
import type { ObservedState } from "../../../plan/observed-state";
import type { RecentRollouts } from "../../../rollout/history/recent-rollouts";
import type { FleetStatus } from "../../status/status-schema";
import type { FleetEntries } from "./entry-store";
import type { SiteRun } from "./site-runs";

export interface SiteData {
  readonly status: FleetStatus;
  readonly entries: FleetEntries;
  /** The rollouts of the journal; undefined if there is none. */
  readonly rollouts: RecentRollouts | undefined;
  /** The stored runs, with this one last. */
  readonly runs: readonly SiteRun[];
  /** The number of allows of all tenants, by {@link ALLOW_AGE_GROUPS}; undefined if no tenant was read. */
  readonly ages: readonly number[] | undefined;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The age groups of allows, by the creation date that the service reports. The last group is for allows without such a date. */
export const ALLOW_AGE_GROUPS = [
  { name: "up to 30 days", days: 30 },
  { name: "up to 90 days", days: 90 },
  { name: "up to 180 days", days: 180 },
  { name: "up to a year", days: 365 },
  { name: "up to two years", days: 730 },
  { name: "older", days: Number.POSITIVE_INFINITY },
  { name: "unknown", days: Number.NaN },
] as const;

/** Counts the allows of a fleet by age. */
export class AllowAgeCounter {
  readonly #nowMs: number;
  /** By tenant name. */
  readonly #counts = new Map<string, number[]>();

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  add(name: string, { rows }: Pick<ObservedState, "rows">): void {
    const counts = ALLOW_AGE_GROUPS.map(() => 0);
    this.#counts.set(name, counts);
    for (const row of rows) {
      if (row.list !== "allow") continue;
      const createdAtMs = parseInstant(row.created_at ?? undefined);
      const days = createdAtMs === undefined ? Number.NaN : (this.#nowMs - createdAtMs) / DAY_MS;
      const bucket = ALLOW_AGE_GROUPS.findIndex((group) => days <= group.days);
      const index = bucket < 0 ? ALLOW_AGE_GROUPS.length - 1 : bucket;
      counts[index] = (counts[index] ?? 0) + 1;
    }
  }

  remove(name: string): void {
    this.#counts.delete(name);
  }

  /** The counts by {@link ALLOW_AGE_GROUPS}; undefined if no tenant was read. */
  get counts(): readonly number[] | undefined {
    if (this.#counts.size === 0) return undefined;
    const allCounts = [...this.#counts.values()];
    return ALLOW_AGE_GROUPS.map((_, index) => allCounts.reduce((sum, counts) => sum + (counts[index] ?? 0), 0));
  }
}
