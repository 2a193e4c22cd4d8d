import type { ListKind } from "../../model/list-arguments";
import { formatFirstItems, sanitizeLine } from "../../model/text";

export function formatItemCount(count: number, kind: ListKind): string {
  return `${count} ${count === 1 ? kind.noun[0] : kind.noun[1]}`;
}

export const MAX_LISTED_ITEMS = 5;

export function formatItemNames(names: readonly string[], separator = ", "): string {
  return formatFirstItems(names, sanitizeLine, separator);
}
