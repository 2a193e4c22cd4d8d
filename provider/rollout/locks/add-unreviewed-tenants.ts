import type { Target } from "../model/target";
import type { Wave } from "../model/wave";
import type { LockSummary } from "./rollout-locks";

/** Adds to each wave its tenants with an unreviewed last change. */
export function addUnreviewedTenants(
  waves: readonly Wave[],
  targets: readonly Pick<Target, "name" | "stack">[],
  { unreviewed }: Pick<LockSummary, "unreviewed">,
): readonly Wave[] {
  const sinceByTenant = new Map(targets.map(({ name, stack }) => [name, unreviewed.get(stack)]));
  return waves.map((wave) => {
    const unreviewedTenants = wave.tenants.flatMap((name) => {
      const sinceMs = sinceByTenant.get(name);
      return sinceMs === undefined ? [] : [{ name, sinceMs }];
    });
    return unreviewedTenants.length === 0 ? wave : { ...wave, unreviewed: unreviewedTenants };
  });
}
