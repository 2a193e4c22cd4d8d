import { enumerate, given, number, type Words } from "../../render/words";

/** So many tenants are named in a sentence. */
export const NAMED = 5;

/** The names of tenants, as {@link firstNames}. */
export function tenantNames(tenants: readonly { readonly name: string }[]): Words {
  return firstNames(tenants.map(({ name }) => name));
}

/** The first names, and how many more there are: `acme, globex and 38 more`. @param total how many there are in all. */
export function firstNames(names: readonly string[], total = names.length): Words {
  const shown = names.slice(0, NAMED).map((name): Words => [given(name)]);
  const more = total - shown.length;
  return enumerate(more > 0 ? [...shown, [`${number(more)} more`]] : shown);
}
