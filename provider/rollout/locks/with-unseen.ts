import type { Target } from "../model/target";
import type { Wave } from "../model/wave";
import type { Minded } from "./rollout-marks";

/** Adds to each wave its tenants with an unreviewed last change. */
export function withUnseen(
  waves: readonly Wave[],
  targets: readonly Pick<Target, "name" | "stack">[],
  { unseen }: Pick<Minded, "unseen">,
): readonly Wave[] {
  const sinceByTenant = new Map(targets.map(({ name, stack }) => [name, unseen.get(stack)]));
  return waves.map((wave) => {
    const unreviewedTenants = wave.tenants.flatMap((name) => {
      const sinceMs = sinceByTenant.get(name);
      return sinceMs === undefined ? [] : [{ name, sinceMs }];
    });
    return unreviewedTenants.length === 0 ? wave : { ...wave, unseen: unreviewedTenants };
  });
}
