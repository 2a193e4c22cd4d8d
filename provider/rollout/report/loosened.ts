import { given, join, number, say, sentence, type Words } from "../../render/words";
import type { TenantReport } from "../model/rollout-report";

/** What tenants' files loosen alike of what the files that they include ask for. */
export interface SharedLoosening {
  /** As the first of them has it: `settings/acme.yaml:4: …`. */
  readonly what: string;
  readonly tenants: readonly string[];
}

/** Who looks at hundreds of tenants is told once of what they have in common; what the most have, first. */
export function sharedLoosenings(tenants: readonly TenantReport[]): readonly SharedLoosening[] {
  const shared = new Map<string, { what: string; tenants: string[] }>();
  for (const { name, loosened = [] } of tenants) {
    for (const what of loosened) {
      const key = what.replaceAll(name, "…");
      const known = shared.get(key);
      if (known === undefined) shared.set(key, { what, tenants: [name] });
      else known.tenants.push(name);
    }
  }
  return [...shared.values()].sort((one, other) => other.tenants.length - one.tenants.length);
}

/** `settings/acme.yaml:4: …; the same in globex, initech, and 7 more`. */
export function looseningWords({ what, tenants: [, ...others] }: SharedLoosening): Words {
  if (others.length === 0) return [sentence(what)];
  const names = others.slice(0, NAMED).map((name): Words => [given(name)]);
  const more = others.length > NAMED ? `, and ${number(others.length - NAMED)} more` : "";
  return say`${sentence(what)}; the same in ${join(names, ", ")}${more}`;
}

const NAMED = 5;
