import {
  type Durations,
  halfLife,
  type Progress,
  type RunningTenant,
  type WaveProgress,
} from "./progress-model";

/** How long a rollout will still take, about. */
export interface TimeLeft {
  readonly ms: number;
  /** The wave after which a person is asked: how long that takes, nobody knows, so the time is the one until then. */
  readonly untilGate?: string;
}

/**
 * What is left, from how long tenants took so far, how many are seen to run at once, and how long waves soak. What a wave
 * allows is only the most that may: cores, a service's places, other rollouts and workers decide how many do.
 *
 * @returns undefined while nothing is known, and where nothing goes on.
 */
export function timeLeft(progress: Progress, nowMs: number): TimeLeft | undefined {
  if (progress.state !== "running") return undefined;
  const { waves } = progress;
  let ms = 0;
  let most = progress.capacity;
  for (const [index, wave] of waves.entries()) {
    const pace = paceOf(wave, nowMs);
    // What kept this wave from using its places keeps the next ones too.
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

/** Of its places, what a wave uses that nothing else keeps back: between two tenants one is empty for a moment. */
const FULL = 0.75;
/** So many durations of a wave are enough to tell its other tenants' by them alone. */
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
  // What takes longer than usual is as good as through.
  const begun = agesMs.map((ms) => Math.max(0, each - ms));
  const work = counts.left * each + begun.reduce((sum, ms) => sum + ms, 0);
  const places = Math.min(atOnce, counts.left + running.length);
  // A service that has fewer places than the wave has may be what all wait for at the end.
  const queues = [...hosts.values()]
    .filter(({ isFull }) => isFull)
    .map(({ counts: { left, running: own }, pace }) => {
      const placesThere = pace.average(nowMs, own, true, halfLife(durations)) ?? 1;
      return ((left + own / 2) * each) / Math.max(MIN_PLACES, placesThere);
    });
  return Math.max(work / Math.max(MIN_PLACES, places), counts.left > 0 ? each : 0, ...begun, ...queues);
}

/** Where others hold every place for long, an end is not to be told. */
const MIN_PLACES = 0.1;

/**
 * How long a tenant takes. Those that still run are in it, half-way as they are on average: the first to be through are
 * the quick ones.
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
