import type { ListKind } from "../../settings/list-arguments";
import { printable } from "../../settings/text";

export function counted(count: number, kind: ListKind): string {
  return `${count} ${count === 1 ? kind.noun[0] : kind.noun[1]}`;
}

/** So many are named. */
export const FEW = 5;

export function fewOf(names: readonly string[], between = ", "): string {
  const shown = names.slice(0, FEW).map(printable).join(between);
  return names.length > FEW ? `${shown}${between}… and ${names.length - FEW} more` : shown;
}
