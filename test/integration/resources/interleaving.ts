/**
 * Lets several parties pass gates one at a time, in an order determined by a seed. A gate opens only once every party
 * waits at one or has left, so no party is ahead of another by chance.
 */
export class Interleaving {
  readonly #waiting = new Map<string, (() => void)[]>();
  #state: number;

  constructor(parties: readonly string[], seed: number) {
    for (const party of parties) this.#waiting.set(party, []);
    this.#state = seed;
  }

  /** Waits for the party's turn. Returns immediately for a party that has left. */
  async waitForTurn(party: string): Promise<void> {
    const own = this.#waiting.get(party);
    if (own === undefined) return;
    await new Promise<void>((pass) => {
      own.push(pass);
      this.#next();
    });
  }

  /** Removes the party from the rotation. */
  leave(party: string): void {
    const own = this.#waiting.get(party) ?? [];
    this.#waiting.delete(party);
    for (const pass of own) pass();
    this.#next();
  }

  #next(): void {
    const all = [...this.#waiting.values()];
    if (all.length === 0 || all.some((waiting) => waiting.length === 0)) return;
    const chosen = all[this.#random(all.length)];
    chosen?.splice(this.#random(chosen.length), 1)[0]?.();
    // Immediate effects of this step take place before the next party continues.
    setImmediate(() => this.#next());
  }

  /** Returns a pseudorandom integer below the limit (mulberry32). */
  #random(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }
}
