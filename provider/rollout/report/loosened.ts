import { given, join, number, say, sentence, type Words } from "../../render/words";
import type { TenantReport } from "../model/rollout-report";

/** An override of an included file's rule that several tenants share. */
export interface SharedLoosening {
  /** The override in the first tenant: `settings/acme.yaml:4: …`. */
  readonly what: string;
  readonly tenants: readonly string[];
}

/** Groups the overrides of hundreds of tenants, so that a reviewer sees each only once. The most common come first. */
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

/** For example: `settings/acme.yaml:4: …; the same in globex, initech, and 7 more`. */
export function looseningWords({ what, tenants: [, ...others] }: SharedLoosening): Words {
  if (others.length === 0) return [sentence(what)];
  const names = others.slice(0, NAMED).map((name): Words => [given(name)]);
  const more = others.length > NAMED ? `, and ${number(others.length - NAMED)} more` : "";
  return say`${sentence(what)}; the same in ${join(names, ", ")}${more}`;
}

const NAMED = 5;
