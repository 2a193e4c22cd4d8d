import { type Durations, getHalfLifeMs, type Progress, type RunningTenant, type WaveProgress } from "./progress-model";

export interface RemainingTime {
  readonly ms: number;
  /**
   * The next wave after which the rollout pauses for a person. The time covers only the part until then, because nobody knows how long the
   * person takes.
   */
  readonly gateAfterWave?: string;
}

/**
 * Estimates the remaining time from the durations of the tenants so far, the measured concurrency, and the soak times
 * of the waves. A wave's own limit is only a maximum: cores, a service's slots, other rollouts and workers may lower
 * the concurrency.
 *
 * @returns undefined without measurements, and while the rollout isn't running.
 */
export function estimateRemainingTime(progress: Progress, nowMs: number): RemainingTime | undefined {
  if (progress.state !== "running") return undefined;
  const { waves } = progress;
  let ms = 0;
  let maxConcurrency = progress.capacity;
  for (const [index, wave] of waves.entries()) {
    const concurrency = getConcurrency(wave, nowMs);
    // A limit that keeps this wave below its maximum will affect the next waves too.
    const isLimited =
      wave.maxConcurrent > 1 && concurrency !== undefined && concurrency < wave.maxConcurrent * SATURATION_RATIO;
    if (isLimited) maxConcurrency = Math.min(maxConcurrency, Math.max(concurrency, 1));
    if (wave.state === "done") continue;
    const workTimeMs = estimateWorkMs(
      progress,
      wave,
      nowMs,
      Math.min(concurrency ?? maxConcurrency, wave.maxConcurrent),
    );
    if (workTimeMs === undefined) return undefined;
    ms += workTimeMs + estimateSoakMs(wave, nowMs);
    if (wave.isGated && index < waves.length - 1) return { ms, gateAfterWave: wave.name };
  }
  return { ms };
}

/** The fraction of its slots that a wave uses without any other limit. A slot is briefly free between two tenants. */
const SATURATION_RATIO = 0.75;
/** With this many durations, a wave's own average is reliable. */
const MIN_SAMPLES = 5;

function getConcurrency({ concurrencyMeter, counts, durations }: WaveProgress, nowMs: number): number | undefined {
  return concurrencyMeter.average(nowMs, counts.running, counts.remaining > 0, getHalfLifeMs(durations));
}

function estimateWorkMs(
  progress: Progress,
  wave: WaveProgress,
  nowMs: number,
  concurrency: number,
): number | undefined {
  const { counts, durations, hosts } = wave;
  const running = [...progress.running.values()].filter(({ wave: waveName }) => waveName === wave.name);
  if (counts.remaining + running.length === 0) return 0;
  const agesMs = running.map((tenant) => getAgeMs(tenant, nowMs));
  const usualTenantMs = estimateUsualMs(durations.count >= MIN_SAMPLES ? durations : progress.durations, agesMs);
  if (usualTenantMs === undefined) return undefined;
  // A tenant that takes longer than usual counts as nearly finished.
  const remainingAgesMs = agesMs.map((ms) => Math.max(0, usualTenantMs - ms));
  const totalWorkMs = counts.remaining * usualTenantMs + remainingAgesMs.reduce((totalMs, ms) => totalMs + ms, 0);
  const slots = Math.min(concurrency, counts.remaining + running.length);
  // A service with fewer slots than the wave may be the bottleneck at the end.
  const hostTimesMs = [...hosts.values()]
    .filter(({ isFull }) => isFull)
    .map(({ counts: { remaining, running: runningCount }, concurrencyMeter }) => {
      const hostSlots = concurrencyMeter.average(nowMs, runningCount, true, getHalfLifeMs(durations)) ?? 1;
      return ((remaining + runningCount / 2) * usualTenantMs) / Math.max(MIN_SLOTS, hostSlots);
    });
  return Math.max(
    totalWorkMs / Math.max(MIN_SLOTS, slots),
    counts.remaining > 0 ? usualTenantMs : 0,
    ...remainingAgesMs,
    ...hostTimesMs,
  );
}

/** Bounds the estimate while others occupy all slots for a long time. */
const MIN_SLOTS = 0.1;

/**
 * Estimates how long a tenant takes. Running tenants count as half done, which is the average. Without them, the estimate would be too low,
 * because the quick tenants finish first.
 */
function estimateUsualMs({ count, sumMs }: Durations, agesMs: readonly number[]): number | undefined {
  if (count === 0) return undefined;
  const maxAgeMs = (2 * sumMs) / count;
  const running = agesMs.reduce((totalMs, ms) => totalMs + Math.min(ms, maxAgeMs), 0);
  return (sumMs + running) / (count + agesMs.length / 2);
}

function getAgeMs({ sinceMs }: RunningTenant, nowMs: number): number {
  return Math.max(0, nowMs - sinceMs) || 0;
}

function estimateSoakMs({ state, soakMs: fullSoakMs, soakUntilMs }: WaveProgress, nowMs: number): number {
  if (state === "soaking") return Math.max(0, (soakUntilMs ?? nowMs) - nowMs) || 0;
  return state === "pending" || state === "running" ? fullSoakMs : 0;
}
