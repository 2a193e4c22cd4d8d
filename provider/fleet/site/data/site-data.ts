import type { Observed } from "../../../plan/observed";
import { instantOf } from "../../../plan/seen-mail";
import type { RecentRollouts } from "../../../rollout/history/recent-rollouts";
import type { FleetStatus } from "../../status/status-schema";
import type { FleetEntries } from "./entry-store";
import type { SiteRun } from "./runs";

/** All that a site is made of. */
export interface SiteData {
  readonly status: FleetStatus;
  readonly entries: FleetEntries;
  /** What the rollouts' journal says; undefined where there is none. */
  readonly rollouts: RecentRollouts | undefined;
  /** The runs before that are kept, and this one as the last. */
  readonly runs: readonly SiteRun[];
  /** How many allows tenants hold, by {@link AGES}; undefined where no tenant was read. */
  readonly ages: readonly number[] | undefined;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** How old an allow is: since the service says that it was made. The last is of those of which it does not say. */
export const AGES = [
  { name: "up to 30 days", days: 30 },
  { name: "up to 90 days", days: 90 },
  { name: "up to 180 days", days: 180 },
  { name: "up to a year", days: 365 },
  { name: "up to two years", days: 730 },
  { name: "older", days: Number.POSITIVE_INFINITY },
  { name: "not told", days: Number.NaN },
] as const;

/** Counts the allows of a fleet by their age. */
export class AllowAges {
  readonly #nowMs: number;
  /** By the tenant's name. */
  readonly #counts = new Map<string, number[]>();

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  /** Takes in what one tenant holds. */
  add(name: string, { rows }: Pick<Observed, "rows">): void {
    const counts = AGES.map(() => 0);
    this.#counts.set(name, counts);
    for (const row of rows) {
      if (row.list !== "allow") continue;
      const made = instantOf(row.created_at ?? undefined);
      const days = made === undefined ? Number.NaN : (this.#nowMs - made) / DAY_MS;
      const age = AGES.findIndex((one) => days <= one.days);
      const index = age < 0 ? AGES.length - 1 : age;
      counts[index] = (counts[index] ?? 0) + 1;
    }
  }

  /** Forgets what one tenant holds. */
  forget(name: string): void {
    this.#counts.delete(name);
  }

  /** By {@link AGES}; undefined where no tenant was read. */
  get counts(): readonly number[] | undefined {
    if (this.#counts.size === 0) return undefined;
    const all = [...this.#counts.values()];
    return AGES.map((_, index) => all.reduce((sum, counts) => sum + (counts[index] ?? 0), 0));
  }
}
