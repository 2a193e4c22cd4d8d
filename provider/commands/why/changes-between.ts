import type { HistoryEvent, PlacedElement } from "../../gitops/why-schema";

/** What was changed of one element, by whomever. */
export type Change = Pick<HistoryEvent, "before" | "after" | "include" | "isUndoneByMerge">;

/** What differs: elements of one place are compared, then what is left is paired as a move. */
export function changesBetween(
  before: readonly PlacedElement[],
  after: readonly PlacedElement[],
): readonly Change[] {
  const changes: Change[] = [];
  const olds = [...before];
  const left: PlacedElement[] = [];
  const takes = (one: PlacedElement, alike: (old: PlacedElement) => boolean): boolean => {
    const at = olds.findIndex(alike);
    const old = olds[at];
    if (old === undefined) return false;
    olds.splice(at, 1);
    if (JSON.stringify(old) !== JSON.stringify(one)) changes.push({ before: old, after: one });
    return true;
  };
  for (const one of after) {
    const isSame = (old: PlacedElement): boolean =>
      old.path === one.path && old.section === one.section && old.scope === one.scope;
    if (!takes(one, isSame)) left.push(one);
  }
  for (const one of left) {
    const isOfKind = (old: PlacedElement): boolean =>
      /vips$/.test(old.section) === /vips$/.test(one.section) &&
      old.section.startsWith("remove") === one.section.startsWith("remove");
    if (!takes(one, isOfKind)) changes.push({ after: one });
  }
  return [...changes, ...olds.map((old) => ({ before: old }))];
}
