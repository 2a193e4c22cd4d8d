/**
 * Measures how many tenants run at once, as a recent average over the time in which others wait for their turn. The average therefore
 * reflects every limit below the wave's own: the machine's cores, a service's places, other rollouts and workers.
 */
export class Pace {
  #atOnceMs = 0;
  #ms = 0;
  #atMs: number | undefined;

  /**
   * Records the time up to now. Must be called before each change.
   *
   * @param running how many tenants ran until now.
   * @param isWaiting whether others waited for their turn. At the end of a wave, the number of running tenants says nothing about the
   * limits.
   * @param halfMs the half-life of earlier measurements; undefined: they never decay.
   */
  pass(nowMs: number, running: number, isWaiting: boolean, halfMs: number | undefined): void {
    const { atOnceMs, ms } = this.#after(nowMs, running, isWaiting, halfMs);
    this.#atMs = Math.max(nowMs, this.#atMs ?? nowMs);
    this.#atOnceMs = atOnceMs;
    this.#ms = ms;
  }

  /** The average until now, including the time since the last change. Undefined without measurements. */
  average(nowMs: number, running: number, isWaiting: boolean, halfMs?: number): number | undefined {
    const { atOnceMs, ms } = this.#after(nowMs, running, isWaiting, halfMs);
    return ms > 0 ? atOnceMs / ms : undefined;
  }

  #after(nowMs: number, running: number, isWaiting: boolean, halfMs: number | undefined) {
    const passed = nowMs - (this.#atMs ?? nowMs);
    if (!isWaiting || !(passed > 0)) return { atOnceMs: this.#atOnceMs, ms: this.#ms };
    const kept = halfMs === undefined ? 1 : 0.5 ** (passed / halfMs);
    // The time since the last change decays as well, the earlier parts more.
    const added = halfMs === undefined ? passed : ((1 - kept) * halfMs) / Math.LN2;
    return { atOnceMs: this.#atOnceMs * kept + running * added, ms: this.#ms * kept + added };
  }
}
