/** A choice and its weight relative to the other choices. */
export type WeightedChoice<Value> = readonly [weight: number, value: Value];

/**
 * A small seeded random number generator (sfc32). The same seed gives the same numbers on every machine. Not for
 * cryptographic keys.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#a = hashSeed(`${seed} a`);
    this.#b = hashSeed(`${seed} b`);
    this.#c = hashSeed(`${seed} c`);
    for (let round = 0; round < 15; round += 1) this.#word();
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  number(): number {
    return this.#word() / 2 ** 32;
  }

  /** Returns a whole number; both ends are inclusive. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.number() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.number() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.number() * values.length)] as Value;
  }

  weighted<Value>(choices: readonly WeightedChoice<Value>[]): Value {
    let remaining = this.number() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      remaining -= weight;
      if (remaining < 0) return value;
    }
    return choices[choices.length - 1]?.[1] as Value;
  }

  /** Returns an exponentially distributed delay: mostly short, sometimes long. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.number());
  }

  /** Returns a duration with a log-normal distribution, which suits the duration of most work. */
  logNormal(median: number, spread: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.number())) * Math.cos(2 * Math.PI * this.number());
    return median * Math.exp(spread * normal);
  }

  hex(words: number): string {
    let text = "";
    for (let word = 0; word < words; word += 1) text += this.#word().toString(16).padStart(8, "0");
    return text;
  }

  #word(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }
}

function hashSeed(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}
