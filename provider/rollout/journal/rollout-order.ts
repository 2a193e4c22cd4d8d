import type { Queryable } from "../database/database";
import { readJournalVersion, SEQUENCE_VERSION } from "../database/tables";
import type { RolloutRecord } from "./rollout-record";

export type RolloutOrder = Pick<RolloutRecord, "id" | "seq" | "startedAtMs">;

/**
 * Compares two rollouts by the order in which they started. Sequence numbers come first, because the clocks of two machines differ.
 * Two journals can assign the same number. The start time and the id then decide. Rollouts of earlier releases have no number:
 * they come before all others, by their start times.
 */
export function compareRollouts(a: RolloutOrder, b: RolloutOrder): number {
  return (
    (a.seq ?? 0) - (b.seq ?? 0) ||
    (a.startedAtMs ?? 0) - (b.startedAtMs ?? 0) ||
    (a.id < b.id ? -1 : Number(a.id > b.id))
  );
}

/** Whether a rollout may have started after another. Rollouts with equal numbers may have started in either order. */
export function isPossiblyLater(order: RolloutOrder, other: RolloutOrder): boolean {
  if (order.seq === undefined && other.seq === undefined) return (order.startedAtMs ?? 0) >= (other.startedAtMs ?? 0);
  return (order.seq ?? 0) >= (other.seq ?? 0);
}

/** Returns the SQL expression that orders rollouts of an alias of the table `rollouts`. It is 0 for those of earlier releases. */
export function buildSequenceSql(alias: string): string {
  return `COALESCE(${alias}.seq, 0)`;
}

/** Returns the same for readers, which never migrate the journal. A journal of an earlier release has only start times. */
export async function resolveSequenceSql(database: Queryable, alias: string): Promise<string> {
  const version = (await readJournalVersion(database)) ?? 0;
  return version < SEQUENCE_VERSION ? `${alias}.started_at` : buildSequenceSql(alias);
}
