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
  const byText = new Map<string, { what: string; tenants: string[] }>();
  for (const { name, loosened = [] } of tenants) {
    for (const text of loosened) {
      const key = text.replaceAll(name, "…");
      const existing = byText.get(key);
      if (existing === undefined) byText.set(key, { what: text, tenants: [name] });
      else existing.tenants.push(name);
    }
  }
  return [...byText.values()].sort((one, other) => other.tenants.length - one.tenants.length);
}

/** For example: `settings/acme.yaml:4: …; the same in globex, initech, and 7 more`. */
export function looseningWords({ what, tenants: [, ...otherTenants] }: SharedLoosening): Words {
  if (otherTenants.length === 0) return [sentence(what)];
  const names = otherTenants.slice(0, MAX_NAMES).map((name): Words => [given(name)]);
  const suffix = otherTenants.length > MAX_NAMES ? `, and ${number(otherTenants.length - MAX_NAMES)} more` : "";
  return say`${sentence(what)}; the same in ${join(names, ", ")}${suffix}`;
}

const MAX_NAMES = 5;
