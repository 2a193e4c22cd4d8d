import {
  type Durations,
  halfLife,
  type Progress,
  type RunningTenant,
  type WaveProgress,
} from "./progress-model";

/** The estimated remaining time of a rollout. */
export interface TimeLeft {
  readonly ms: number;
  /**
   * The next wave after which the rollout pauses for a person. The time covers only the part until then, because nobody knows how long the
   * person takes.
   */
  readonly untilGate?: string;
}

/**
 * Estimates the remaining time from the durations of the tenants so far, the measured concurrency, and the soak times of the waves. A
 * wave's own limit is only a maximum: cores, a service's places, other rollouts and workers may lower the concurrency.
 *
 * @returns undefined without measurements, and while the rollout isn't running.
 */
export function timeLeft(progress: Progress, nowMs: number): TimeLeft | undefined {
  if (progress.state !== "running") return undefined;
  const { waves } = progress;
  let ms = 0;
  let most = progress.capacity;
  for (const [index, wave] of waves.entries()) {
    const pace = paceOf(wave, nowMs);
    // A limit that keeps this wave below its maximum will affect the next waves too.
    const isKept = wave.maxConcurrent > 1 && pace !== undefined && pace < wave.maxConcurrent * FULL;
    if (isKept) most = Math.min(most, Math.max(pace, 1));
    if (wave.state === "done") continue;
    const work = workMs(progress, wave, nowMs, Math.min(pace ?? most, wave.maxConcurrent));
    if (work === undefined) return undefined;
    ms += work + soakMs(wave, nowMs);
    if (wave.gate && index < waves.length - 1) return { ms, untilGate: wave.name };
  }
  return { ms };
}

/** The share of its places that a wave uses without any other limit. A place is empty for a moment between two tenants. */
const FULL = 0.75;
/** With this many durations, a wave's own average is reliable. */
const ENOUGH = 5;

function paceOf({ pace, counts, durations }: WaveProgress, nowMs: number): number | undefined {
  return pace.average(nowMs, counts.running, counts.left > 0, halfLife(durations));
}

function workMs(progress: Progress, wave: WaveProgress, nowMs: number, atOnce: number): number | undefined {
  const { counts, durations, hosts } = wave;
  const running = [...progress.running.values()].filter(({ wave: name }) => name === wave.name);
  if (counts.left + running.length === 0) return 0;
  const agesMs = running.map((tenant) => ageMs(tenant, nowMs));
  const each = usualMs(durations.count >= ENOUGH ? durations : progress.durations, agesMs);
  if (each === undefined) return undefined;
  // A tenant that takes longer than usual counts as nearly finished.
  const begun = agesMs.map((ms) => Math.max(0, each - ms));
  const work = counts.left * each + begun.reduce((sum, ms) => sum + ms, 0);
  const places = Math.min(atOnce, counts.left + running.length);
  // A service with fewer places than the wave may be the bottleneck at the end.
  const queues = [...hosts.values()]
    .filter(({ isFull }) => isFull)
    .map(({ counts: { left, running: own }, pace }) => {
      const placesThere = pace.average(nowMs, own, true, halfLife(durations)) ?? 1;
      return ((left + own / 2) * each) / Math.max(MIN_PLACES, placesThere);
    });
  return Math.max(work / Math.max(MIN_PLACES, places), counts.left > 0 ? each : 0, ...begun, ...queues);
}

/** Bounds the estimate while others occupy all places for a long time. */
const MIN_PLACES = 0.1;

/**
 * Estimates how long a tenant takes. Running tenants count as half done, which is the average. Without them, the estimate would be too low,
 * because the quick tenants finish first.
 */
function usualMs({ count, sumMs }: Durations, agesMs: readonly number[]): number | undefined {
  if (count === 0) return undefined;
  const most = (2 * sumMs) / count;
  const running = agesMs.reduce((sum, ms) => sum + Math.min(ms, most), 0);
  return (sumMs + running) / (count + agesMs.length / 2);
}

function ageMs({ sinceMs }: RunningTenant, nowMs: number): number {
  return Math.max(0, nowMs - sinceMs) || 0;
}

function soakMs({ state, soakMs: whole, soakUntilMs }: WaveProgress, nowMs: number): number {
  if (state === "soaking") return Math.max(0, (soakUntilMs ?? nowMs) - nowMs) || 0;
  return state === "pending" || state === "running" ? whole : 0;
}
