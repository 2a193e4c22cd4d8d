import type { Tolerance } from "../model/target";
import type { Wave } from "../model/wave";

/** Returns how many of the tenants may fail. Rounds a percentage down, so that the result never exceeds the declared tolerance. */
export function toleratedOf(tolerance: Tolerance, tenants: number): number {
  return "count" in tolerance ? tolerance.count : Math.floor(partOf(tolerance.percent, tenants));
}

/** Returns how many of the tenants a wave takes. Rounds a percentage up, to at least one and at most all. */
export function takenOf(take: Tolerance, tenants: number): number {
  const count = "count" in take ? take.count : Math.max(1, Math.ceil(partOf(take.percent, tenants)));
  return Math.min(count, tenants);
}

/** Percentages have at most two decimals, so calculating in hundredths of a percent is exact, and 10% of 30 is 3. */
function partOf(percent: number, of: number): number {
  return (Math.round(percent * 100) * of) / 10_000;
}

/** The number of failed tenants in a wave. */
export interface WaveFailures {
  readonly name: string;
  readonly tolerated: number;
  readonly failed: number;
}

/**
 * Lists the waves whose tolerance is exceeded, or else the whole rollout, as named in a sentence. Empty while all failures are tolerated.
 *
 * @param inAll how many tenants may fail in the whole rollout. Default: only the waves have limits.
 */
export function overTolerance(
  waves: readonly WaveFailures[],
  inAll: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const over = waves.filter(({ failed, tolerated }) => failed > tolerated).map(({ name }) => name);
  const all = waves.reduce((sum, { failed }) => sum + failed, 0);
  return over.length === 0 && all > inAll ? ["the whole rollout"] : over;
}

/** Counts the tenants that fail during the planning. */
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

  /** Records the failure of a tenant. */
  add(tenant: string): void {
    const wave = this.#waveOf.get(tenant) ?? "";
    this.#failed.set(wave, (this.#failed.get(wave) ?? 0) + 1);
  }

  /** Like {@link overTolerance}. */
  get over(): readonly string[] {
    const { waves, tolerated } = this.#spec;
    return overTolerance(
      waves.map((wave) => ({ ...wave, failed: this.#failed.get(wave.name) ?? 0 })),
      tolerated,
    );
  }
}
