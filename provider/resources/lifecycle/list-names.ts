import type { ListKind } from "../../settings/list-arguments";
import { formatFirst, printable } from "../../settings/text";

export function counted(count: number, kind: ListKind): string {
  return `${count} ${count === 1 ? kind.noun[0] : kind.noun[1]}`;
}

/** The maximum number of items that a message names. */
export const FEW = 5;

export function fewOf(names: readonly string[], separator = ", "): string {
  return formatFirst(names, printable, separator);
}
