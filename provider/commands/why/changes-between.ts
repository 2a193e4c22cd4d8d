import type { HistoryEvent, PlacedElement } from "../../gitops/why-schema";

/** A change of one element. */
export type Change = Pick<HistoryEvent, "before" | "after" | "include" | "isUndoneByMerge">;

/** Returns the differences: first compares elements at the same path, then pairs the remaining ones as moves. */
export function changesBetween(before: readonly PlacedElement[], after: readonly PlacedElement[]): readonly Change[] {
  const changes: Change[] = [];
  const remainingOld = [...before];
  const unmatched: PlacedElement[] = [];
  const pairWithOld = (element: PlacedElement, isMatch: (old: PlacedElement) => boolean): boolean => {
    const index = remainingOld.findIndex(isMatch);
    const old = remainingOld[index];
    if (old === undefined) return false;
    remainingOld.splice(index, 1);
    if (JSON.stringify(old) !== JSON.stringify(element)) changes.push({ before: old, after: element });
    return true;
  };
  for (const element of after) {
    const isSameElement = (old: PlacedElement): boolean =>
      old.path === element.path && old.section === element.section && old.scope === element.scope;
    if (!pairWithOld(element, isSameElement)) unmatched.push(element);
  }
  for (const element of unmatched) {
    const isSameKind = (old: PlacedElement): boolean =>
      /vips$/.test(old.section) === /vips$/.test(element.section) &&
      old.section.startsWith("remove") === element.section.startsWith("remove");
    if (!pairWithOld(element, isSameKind)) changes.push({ after: element });
  }
  return [...changes, ...remainingOld.map((old) => ({ before: old }))];
}
