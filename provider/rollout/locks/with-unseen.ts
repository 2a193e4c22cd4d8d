import type { Target } from "../model/target";
import type { Wave } from "../model/wave";
import type { Minded } from "./rollout-marks";

/** Adds to each wave its tenants with an unreviewed last change. */
export function withUnseen(
  waves: readonly Wave[],
  targets: readonly Pick<Target, "name" | "stack">[],
  { unseen }: Pick<Minded, "unseen">,
): readonly Wave[] {
  const since = new Map(targets.map(({ name, stack }) => [name, unseen.get(stack)]));
  return waves.map((wave) => {
    const own = wave.tenants.flatMap((name) => {
      const sinceMs = since.get(name);
      return sinceMs === undefined ? [] : [{ name, sinceMs }];
    });
    return own.length === 0 ? wave : { ...wave, unseen: own };
  });
}
