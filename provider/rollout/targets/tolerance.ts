import type { Tolerance } from "../model/target";
import type { Wave } from "../model/wave";

/** How many of so many tenants may fail: a percentage rounded down, so that it is never more than was said. */
export function toleratedOf(tolerance: Tolerance, tenants: number): number {
  return "count" in tolerance ? tolerance.count : Math.floor(partOf(tolerance.percent, tenants));
}

/** How many of so many tenants are taken: a percentage rounded up, at least one; never more than there are. */
export function takenOf(take: Tolerance, tenants: number): number {
  const count = "count" in take ? take.count : Math.max(1, Math.ceil(partOf(take.percent, tenants)));
  return Math.min(count, tenants);
}

/** Percentages have two decimals at most, so in hundredths of them the product is exact, and 10% of 30 is 3. */
function partOf(percent: number, of: number): number {
  return (Math.round(percent * 100) * of) / 10_000;
}

/** So many tenants of a wave failed. */
export interface WaveFailures {
  readonly name: string;
  readonly tolerated: number;
  readonly failed: number;
}

/**
 * What bears no more failures, as it is called in a sentence: waves, or else the whole rollout; empty while all is tolerated.
 *
 * @param inAll how many may fail in the whole rollout. Default: no limit but those of the waves.
 */
export function overTolerance(
  waves: readonly WaveFailures[],
  inAll: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const over = waves.filter(({ failed, tolerated }) => failed > tolerated).map(({ name }) => name);
  const all = waves.reduce((sum, { failed }) => sum + failed, 0);
  return over.length === 0 && all > inAll ? ["the whole rollout"] : over;
}

/** Counts the tenants that fail while they are planned. */
export class FailureTally {
  readonly #failed = new Map<string, number>();
  readonly #waveOf: ReadonlyMap<string, string>;
  readonly #spec: { readonly waves: readonly Wave[]; readonly tolerated?: number };

  constructor(spec: { readonly waves: readonly Wave[]; readonly tolerated?: number }) {
    this.#spec = spec;
    this.#waveOf = new Map(
      spec.waves.flatMap(({ name, tenants }) => tenants.map((one) => [one, name] as const)),
    );
  }

  /** A tenant failed. */
  add(tenant: string): void {
    const wave = this.#waveOf.get(tenant) ?? "";
    this.#failed.set(wave, (this.#failed.get(wave) ?? 0) + 1);
  }

  /** As of {@link overTolerance}. */
  get over(): readonly string[] {
    const { waves, tolerated } = this.#spec;
    return overTolerance(
      waves.map((wave) => ({ ...wave, failed: this.#failed.get(wave.name) ?? 0 })),
      tolerated,
    );
  }
}
