import { between } from "../model/duration";
import type { RolloutReport } from "../model/rollout-report";

/** When a wave's tenants were being changed. */
export interface WaveTimes {
  /** For how long, in milliseconds: without soaking and waiting, and without the time between two runs. */
  readonly workMs: number;
  /** When the last was through. */
  readonly lastAt: string;
}

/**
 * When the tenants of each wave were being changed, by the wave's name. Those in which somebody is still at work or nothing
 * was done are not in it.
 */
export function waveTimes({ waves, tenants }: RolloutReport): ReadonlyMap<string, WaveTimes> {
  const byWave = Map.groupBy(tenants, ({ wave }) => wave);
  const times = new Map<string, WaveTimes>();
  for (const { name, counts } of waves) {
    if (counts.running + counts.released > 0) continue;
    const spans = (byWave.get(name) ?? []).flatMap(({ startedAt, finishedAt }) =>
      startedAt === undefined || finishedAt === undefined ? [] : [{ startedAt, finishedAt }],
    );
    // Times in UTC are in the order of their texts.
    spans.sort((one, other) => (one.startedAt < other.startedAt ? -1 : 1));
    let workMs = 0;
    let lastAt = "";
    for (const { startedAt, finishedAt } of spans) {
      workMs += between(startedAt > lastAt ? startedAt : lastAt, finishedAt) ?? 0;
      if (finishedAt > lastAt) lastAt = finishedAt;
    }
    if (spans.length > 0) times.set(name, { workMs, lastAt });
  }
  return times;
}
