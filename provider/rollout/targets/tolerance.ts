import type { CountOrPercent } from "../model/target";
import type { Wave } from "../model/wave";

/** Returns how many of the tenants may fail. Rounds a percentage down, so that the result never exceeds the declared tolerance. */
export function getToleratedFailures(tolerance: CountOrPercent, tenants: number): number {
  return "count" in tolerance ? tolerance.count : Math.floor(applyPercent(tolerance.percent, tenants));
}

/** Returns how many of the tenants a wave takes. Rounds a percentage up, to at least one and at most all. */
export function getWaveSize(share: CountOrPercent, tenants: number): number {
  const count = "count" in share ? share.count : Math.max(1, Math.ceil(applyPercent(share.percent, tenants)));
  return Math.min(count, tenants);
}

/** Percentages have at most two decimals, so calculating in hundredths of a percent is exact, and 10% of 30 is 3. */
function applyPercent(percent: number, total: number): number {
  return (Math.round(percent * 100) * total) / 10_000;
}

export interface WaveFailures {
  readonly name: string;
  readonly tolerated: number;
  readonly failed: number;
}

/**
 * Lists the waves whose tolerance is exceeded, or else the whole rollout, as named in a sentence. Empty while all failures are tolerated.
 *
 * @param rolloutTolerance how many tenants may fail in the whole rollout. Default: only the waves have limits.
 */
export function findExceededTolerances(
  waves: readonly WaveFailures[],
  rolloutTolerance: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const exceededTolerances = waves.filter(({ failed, tolerated }) => failed > tolerated).map(({ name }) => name);
  const totalFailed = waves.reduce((sum, { failed }) => sum + failed, 0);
  return exceededTolerances.length === 0 && totalFailed > rolloutTolerance ? ["the whole rollout"] : exceededTolerances;
}

export class FailureTally {
  readonly #failed = new Map<string, number>();
  readonly #waveByTenant: ReadonlyMap<string, string>;
  readonly #spec: { readonly waves: readonly Wave[]; readonly tolerated?: number };

  constructor(spec: { readonly waves: readonly Wave[]; readonly tolerated?: number }) {
    this.#spec = spec;
    this.#waveByTenant = new Map(
      spec.waves.flatMap(({ name, tenants }) => tenants.map((tenantName) => [tenantName, name] as const)),
    );
  }

  add(tenant: string): void {
    const wave = this.#waveByTenant.get(tenant) ?? "";
    this.#failed.set(wave, (this.#failed.get(wave) ?? 0) + 1);
  }

  get exceededTolerances(): readonly string[] {
    const { waves, tolerated } = this.#spec;
    return findExceededTolerances(
      waves.map((wave) => ({ ...wave, failed: this.#failed.get(wave.name) ?? 0 })),
      tolerated,
    );
  }
}
