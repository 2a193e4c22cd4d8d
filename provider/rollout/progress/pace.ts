/**
 * How many tenants run at once: on average, lately, over the time in which others waited for their turn. So it is what the
 * machine's cores, a service's places, other rollouts and workers leave of what a wave allows, whichever of them it is.
 */
export class Pace {
  #atOnceMs = 0;
  #ms = 0;
  #atMs: number | undefined;

  /**
   * To be told before each change.
   *
   * @param running how many ran until now.
   * @param isWaiting whether others waited for their turn: what runs at the end of a wave says nothing of what could.
   * @param halfMs after how long what was seen counts half; undefined: never.
   */
  pass(nowMs: number, running: number, isWaiting: boolean, halfMs: number | undefined): void {
    const { atOnceMs, ms } = this.#after(nowMs, running, isWaiting, halfMs);
    this.#atMs = Math.max(nowMs, this.#atMs ?? nowMs);
    this.#atOnceMs = atOnceMs;
    this.#ms = ms;
  }

  /** The average until now, with what runs since the last change; undefined where nothing was seen. */
  average(nowMs: number, running: number, isWaiting: boolean, halfMs?: number): number | undefined {
    const { atOnceMs, ms } = this.#after(nowMs, running, isWaiting, halfMs);
    return ms > 0 ? atOnceMs / ms : undefined;
  }

  #after(nowMs: number, running: number, isWaiting: boolean, halfMs: number | undefined) {
    const passed = nowMs - (this.#atMs ?? nowMs);
    if (!isWaiting || !(passed > 0)) return { atOnceMs: this.#atOnceMs, ms: this.#ms };
    const kept = halfMs === undefined ? 1 : 0.5 ** (passed / halfMs);
    // What passed since counts less the longer ago it was, too.
    const added = halfMs === undefined ? passed : ((1 - kept) * halfMs) / Math.LN2;
    return { atOnceMs: this.#atOnceMs * kept + running * added, ms: this.#ms * kept + added };
  }
}
