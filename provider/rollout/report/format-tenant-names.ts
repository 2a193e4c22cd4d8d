import { formatNumber, joinWithAnd, type SafeText, untrusted } from "../../render/safe-text";

export const MAX_LISTED_NAMES = 5;

/** Formats the names of tenants, like {@link formatFirstNames}. */
export function formatTenantNames(tenants: readonly { readonly name: string }[]): SafeText {
  return formatFirstNames(tenants.map(({ name }) => name));
}

/** Formats the first names, and counts the others: `acme, globex and 38 more`. */
export function formatFirstNames(names: readonly string[], total = names.length): SafeText {
  const visibleNames = names.slice(0, MAX_LISTED_NAMES).map((name): SafeText => [untrusted(name)]);
  const hiddenCount = total - visibleNames.length;
  return joinWithAnd(hiddenCount > 0 ? [...visibleNames, [`${formatNumber(hiddenCount)} more`]] : visibleNames);
}
