/**
 * Measures how many tenants run at once, as a recent average over the time in which other tenants are waiting. The
 * average therefore reflects every limit below the wave's own: the machine's cores, a service's slots, other rollouts
 * and workers.
 */
export class ConcurrencyMeter {
  #weightedMs = 0;
  #observedMs = 0;
  #lastAtMs: number | undefined;

  /**
   * Records the time up to now. Must be called before each change.
   *
   * @param running how many tenants ran until now.
   * @param isWaiting whether other tenants were waiting. At the end of a wave, the number of running tenants says
   * nothing about the limits.
   * @param halfLifeMs the half-life of earlier measurements; undefined: they never decay.
   */
  record(nowMs: number, running: number, isWaiting: boolean, halfLifeMs: number | undefined): void {
    const { atOnceMs, ms } = this.#computeTotals(nowMs, running, isWaiting, halfLifeMs);
    this.#lastAtMs = Math.max(nowMs, this.#lastAtMs ?? nowMs);
    this.#weightedMs = atOnceMs;
    this.#observedMs = ms;
  }

  /** Returns the average until now, including the time since the last change. Undefined without measurements. */
  average(nowMs: number, running: number, isWaiting: boolean, halfLifeMs?: number): number | undefined {
    const { atOnceMs, ms } = this.#computeTotals(nowMs, running, isWaiting, halfLifeMs);
    return ms > 0 ? atOnceMs / ms : undefined;
  }

  #computeTotals(nowMs: number, running: number, isWaiting: boolean, halfLifeMs: number | undefined) {
    const elapsedMs = nowMs - (this.#lastAtMs ?? nowMs);
    if (!isWaiting || !(elapsedMs > 0)) return { atOnceMs: this.#weightedMs, ms: this.#observedMs };
    const retention = halfLifeMs === undefined ? 1 : 0.5 ** (elapsedMs / halfLifeMs);
    // The time since the last change decays as well, its earlier parts more than the later ones.
    const addedMs = halfLifeMs === undefined ? elapsedMs : ((1 - retention) * halfLifeMs) / Math.LN2;
    return {
      atOnceMs: this.#weightedMs * retention + running * addedMs,
      ms: this.#observedMs * retention + addedMs,
    };
  }
}
