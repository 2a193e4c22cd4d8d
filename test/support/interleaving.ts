/**
 * Lets several parties pass gates one after another, in an order that a seed decides. A gate opens only when every party
 * waits at one, or has left; so none is ahead of another by chance.
 */
export class Interleaving {
  readonly #waiting = new Map<string, (() => void)[]>();
  #state: number;

  constructor(parties: readonly string[], seed: number) {
    for (const party of parties) this.#waiting.set(party, []);
    this.#state = seed;
  }

  /** Waits for the party's turn. Who has left need not wait. */
  async gate(party: string): Promise<void> {
    const own = this.#waiting.get(party);
    if (own === undefined) return;
    await new Promise<void>((pass) => {
      own.push(pass);
      this.#next();
    });
  }

  /** The party asks for no turn any more. */
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
    // What comes of it comes before the next one goes, where it comes at once.
    setImmediate(() => this.#next());
  }

  /** A whole number below another: mulberry32. */
  #random(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }
}
