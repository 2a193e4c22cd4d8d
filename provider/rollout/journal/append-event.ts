import type { Queryable } from "../database/database";
import type { RolloutEventData } from "../model/rollout-event";

/** Appends an event to a rollout, in the same transaction as the change itself. @param nowMs the time in milliseconds since 1970. */
export async function appendEvent(
  transaction: Queryable,
  id: string,
  event: RolloutEventData,
  nowMs: number,
): Promise<void> {
  const [row] = await transaction.query("UPDATE rollouts SET events = events + 1 WHERE id = $1 RETURNING events", [id]);
  await transaction.query("INSERT INTO rollout_events (rollout, seq, at, happening) VALUES ($1, $2, $3, $4)", [
    id,
    Number(row?.["events"]),
    nowMs,
    JSON.stringify(event),
  ]);
}
