import type { Target } from "../model/target";
import type { Wave } from "../model/wave";
import type { Minded } from "./rollout-marks";

/** The waves with the tenants of each whose last change nobody has looked at. */
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
