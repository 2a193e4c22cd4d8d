import type { Durations, Progress, WaveProgress } from "./progress-model";

/** How long a rollout will still take, about. */
export interface TimeLeft {
  readonly ms: number;
  /** The wave after which a person is asked: how long that takes, nobody knows, so the time is the one until then. */
  readonly untilGate?: string;
}

/**
 * What is left, from how long tenants took so far, how many are changed at once, and how long waves soak.
 *
 * @returns undefined while nothing is known, and where nothing goes on.
 */
export function timeLeft(progress: Progress, nowMs: number): TimeLeft | undefined {
  if (progress.state !== "running") return undefined;
  const { waves } = progress;
  let ms = 0;
  for (const [index, wave] of waves.entries()) {
    if (wave.state === "done") continue;
    const work = workMs(progress, wave, nowMs);
    if (work === undefined) return undefined;
    ms += work + soakMs(wave, nowMs);
    if (wave.gate && index < waves.length - 1) return { ms, untilGate: wave.name };
  }
  return { ms };
}

/** So many durations of a wave are enough to tell its other tenants' by them alone. */
const ENOUGH = 5;

function workMs(progress: Progress, wave: WaveProgress, nowMs: number): number | undefined {
  const { left } = wave.counts;
  const running = [...progress.running.values()].filter(({ wave: name }) => name === wave.name);
  if (left + running.length === 0) return 0;
  const each = mean(wave.durations.count >= ENOUGH ? wave.durations : progress.durations);
  if (each === undefined) return undefined;
  // What takes longer than usual is as good as through.
  const begun = running.map(({ sinceMs }) => Math.max(0, each - (nowMs - sinceMs)) || 0);
  const work = left * each + begun.reduce((sum, ms) => sum + ms, 0);
  return Math.max(work / Math.min(wave.maxConcurrent, left + running.length), left > 0 ? each : 0, ...begun);
}

function soakMs({ state, soakMs: whole, soakUntilMs }: WaveProgress, nowMs: number): number {
  if (state === "soaking") return Math.max(0, (soakUntilMs ?? nowMs) - nowMs) || 0;
  return state === "pending" || state === "running" ? whole : 0;
}

function mean({ count, sumMs }: Durations): number | undefined {
  return count === 0 ? undefined : sumMs / count;
}
