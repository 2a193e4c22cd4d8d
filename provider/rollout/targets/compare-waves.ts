import { isDeepStrictEqual } from "node:util";
import { quote } from "../../settings/text";
import type { Target, Targets } from "../model/target";
import type { Wave } from "../model/wave";
import { assignWaves, UnassignedTargetsError } from "./assign-waves";

/**
 * Compares the waves of a rollout with the waves that the present targets file would give the same tenants.
 *
 * @param recorded the waves of the rollout, which it keeps.
 * @param targets its tenants, as the file declares them now.
 * @returns the differences as a sentence without a full stop. Undefined if there are none.
 */
export function compareWaves(
  recorded: readonly Wave[],
  targets: readonly Target[],
  declared: Targets,
): string | undefined {
  const now = currentWaves(targets, declared);
  if (now === undefined) return "some of its tenants are in no wave now";
  const before = waveOfTenants(recorded);
  const moved = [...waveOfTenants(now)].filter(([name, wave]) => before.get(name) !== wave);
  const [first] = moved;
  if (first !== undefined) {
    const more = moved.length === 1 ? "" : `, and ${moved.length - 1} more are in another wave`;
    return `${quote(first[0])} is in the wave ${quote(first[1])} now${more}`;
  }
  const byName = new Map(now.map((wave) => [wave.name, wave]));
  const changed = recorded.find((wave) => {
    const today = byName.get(wave.name);
    return today !== undefined && !isDeepStrictEqual(conditionsOf(today), conditionsOf(wave));
  });
  return (
    changed && `the wave ${quote(changed.name)} has another gate, soak, health check or closed hours now`
  );
}

function currentWaves(
  targets: readonly Target[],
  { waves, targets: order }: Targets,
): readonly Wave[] | undefined {
  const byName = new Map(targets.map((target) => [target.name, target]));
  const ordered = order.flatMap(({ name }) => byName.get(name) ?? []);
  const isOrdered = new Set(ordered);
  const missing = targets.filter((target) => !isOrdered.has(target));
  try {
    return assignWaves(waves, [...ordered, ...missing]).waves;
  } catch (error) {
    if (error instanceof UnassignedTargetsError) return undefined;
    throw error;
  }
}

function waveOfTenants(waves: readonly Wave[]): Map<string, string> {
  return new Map(waves.flatMap(({ name, tenants }) => tenants.map((tenant) => [tenant, name] as const)));
}

/** The conditions for the next wave to begin. */
function conditionsOf({ gate, soakMs, health, closed }: Wave) {
  return { gate, soakMs, health, closed };
}
