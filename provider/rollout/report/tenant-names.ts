import { enumerate, given, number, type Words } from "../../plan/render/words";

/** So many tenants are named in a sentence. */
export const NAMED = 5;

/** The first names, and how many more there are. */
export function tenantNames(tenants: readonly { readonly name: string }[]): Words {
  const names = tenants.slice(0, NAMED).map(({ name }): Words => [given(name)]);
  const more = tenants.length - names.length;
  return enumerate(more > 0 ? [...names, [`${number(more)} more`]] : names);
}
