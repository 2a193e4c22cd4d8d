import { isDeepStrictEqual } from "node:util";
import { quote } from "../../model/text";
import type { Target, Targets } from "../model/target";
import type { Wave } from "../model/wave";
import { assignWaves, UnassignedTargetsError } from "./assign-waves";

/**
 * Compares the waves of a rollout with the waves that the present targets file would give the same tenants.
 *
 * @param recordedWaves the waves of the rollout, which it keeps.
 * @param targets its tenants, as the file declares them now.
 * @returns the differences as a sentence without a full stop. Undefined if there are none.
 */
export function describeWaveChanges(
  recordedWaves: readonly Wave[],
  targets: readonly Target[],
  declaredTargets: Targets,
): string | undefined {
  const wavesNow = assignCurrentWaves(targets, declaredTargets);
  if (wavesNow === undefined) return "some of its tenants are no longer in a wave";
  const waveBefore = mapTenantsToWaves(recordedWaves);
  const movedTenants = [...mapTenantsToWaves(wavesNow)].filter(([name, wave]) => waveBefore.get(name) !== wave);
  const [first] = movedTenants;
  if (first !== undefined) {
    const suffix = movedTenants.length === 1 ? "" : `, and ${movedTenants.length - 1} more are in another wave`;
    return `${quote(first[0])} is now in the wave ${quote(first[1])}${suffix}`;
  }
  const byName = new Map(wavesNow.map((wave) => [wave.name, wave]));
  const changed = recordedWaves.find((wave) => {
    const waveNow = byName.get(wave.name);
    return waveNow !== undefined && !isDeepStrictEqual(getWaveConditions(waveNow), getWaveConditions(wave));
  });
  return changed && `the wave ${quote(changed.name)} now has a different gate, soak, health check or closed hours`;
}

function assignCurrentWaves(
  targets: readonly Target[],
  { waves, targets: declaredOrder }: Targets,
): readonly Wave[] | undefined {
  const byName = new Map(targets.map((target) => [target.name, target]));
  const ordered = declaredOrder.flatMap(({ name }) => byName.get(name) ?? []);
  const orderedSet = new Set(ordered);
  const missing = targets.filter((target) => !orderedSet.has(target));
  try {
    return assignWaves(waves, [...ordered, ...missing]).waves;
  } catch (error) {
    if (error instanceof UnassignedTargetsError) return undefined;
    throw error;
  }
}

function mapTenantsToWaves(waves: readonly Wave[]): Map<string, string> {
  return new Map(waves.flatMap(({ name, tenants }) => tenants.map((tenant) => [tenant, name] as const)));
}

function getWaveConditions({ gate, soakMs, health, closed }: Wave) {
  return { gate, soakMs, health, closed };
}
