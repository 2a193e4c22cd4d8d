import { RolloutError } from "../errors";
import type { Journal } from "../journal/journal";

/**
 * Works with a journal while no rollout of it is under way, and none begins.
 *
 * @param isHeld whether somebody is at a rollout now.
 * @throws {RolloutError} (`ERR_ROLLOUT_BUSY`) when one is, or may be.
 */
export async function whileQuiet<T>(
  journal: Journal,
  isHeld: (id: string) => Promise<boolean>,
  work: () => Promise<T>,
): Promise<T> {
  const { database } = journal;
  const turn = await database.hold("begin", () => {});
  if (turn === undefined) throw busy("A rollout is being begun with this journal");
  try {
    for (const { id, state } of await journal.records()) {
      if (state === "running" && (await isHeld(id))) throw busy(`The rollout ${id} is under way`);
    }
    if (database.dialect === "postgres") {
      // Workers go on with what they have when the run that handed it out is gone.
      const [busyOne] = await database.query(
        "SELECT rollout, name FROM rollout_tenants WHERE state IN ('released', 'running') LIMIT 1",
      );
      if (busyOne !== undefined) {
        throw busy(
          `The rollout ${String(busyOne["rollout"])} was interrupted, and workers may still be at its tenants`,
        );
      }
    }
    return await work();
  } finally {
    await turn.release();
  }
}

function busy(why: string): RolloutError {
  return new RolloutError(
    "ERR_ROLLOUT_BUSY",
    `${why}. Nothing was read or written. Wait for its end, or stop it, and try again.`,
  );
}
