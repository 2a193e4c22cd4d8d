import { enumerate, given, number, type Words } from "../../render/words";

/** The maximum number of tenants to name in a sentence. */
export const NAMED = 5;

/** Formats the names of tenants, like {@link firstNames}. */
export function tenantNames(tenants: readonly { readonly name: string }[]): Words {
  return firstNames(tenants.map(({ name }) => name));
}

/**
 * Formats the first names, and counts the others: `acme, globex and 38 more`.
 *
 * @param total the number of all names.
 */
export function firstNames(names: readonly string[], total = names.length): Words {
  const visibleNames = names.slice(0, NAMED).map((name): Words => [given(name)]);
  const hiddenCount = total - visibleNames.length;
  return enumerate(hiddenCount > 0 ? [...visibleNames, [`${number(hiddenCount)} more`]] : visibleNames);
}
