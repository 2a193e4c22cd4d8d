import { getElapsedMs } from "../model/duration";
import type { RolloutReport } from "../model/rollout-report";

export interface WaveTimes {
  /** The duration of the work in milliseconds. Excludes soaking, waiting, and the time between two runs. */
  readonly workMs: number;
  readonly lastFinishedAt: string;
}

/**
 * Returns the times of the work on each wave's tenants, by wave name. Excludes waves with running tenants, and waves that changed nothing.
 */
export function computeWaveTimes({ waves, tenants }: RolloutReport): ReadonlyMap<string, WaveTimes> {
  const byWave = Map.groupBy(tenants, ({ wave }) => wave);
  const times = new Map<string, WaveTimes>();
  for (const { name, counts } of waves) {
    if (counts.running + counts.queued > 0) continue;
    const spans = (byWave.get(name) ?? []).flatMap(({ startedAt, finishedAt }) =>
      startedAt === undefined || finishedAt === undefined ? [] : [{ startedAt, finishedAt }],
    );
    // ISO 8601 times in UTC sort as text.
    spans.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
    let workMs = 0;
    let lastFinishedAt = "";
    for (const { startedAt, finishedAt } of spans) {
      workMs += getElapsedMs(startedAt > lastFinishedAt ? startedAt : lastFinishedAt, finishedAt) ?? 0;
      if (finishedAt > lastFinishedAt) lastFinishedAt = finishedAt;
    }
    if (spans.length > 0) times.set(name, { workMs, lastFinishedAt });
  }
  return times;
}
