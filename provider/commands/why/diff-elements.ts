import type { FileElement, HistoryEvent } from "../../gitops/why-schema";

export type ElementChange = Pick<HistoryEvent, "before" | "after" | "include" | "isUndoneByMerge">;

/** Returns the differences: first compares elements at the same path, then pairs the remaining ones as moves. */
export function diffElements(before: readonly FileElement[], after: readonly FileElement[]): readonly ElementChange[] {
  const changes: ElementChange[] = [];
  const remainingOld = [...before];
  const unmatched: FileElement[] = [];
  const pairWithOld = (element: FileElement, isMatch: (old: FileElement) => boolean): boolean => {
    const index = remainingOld.findIndex(isMatch);
    const old = remainingOld[index];
    if (old === undefined) return false;
    remainingOld.splice(index, 1);
    if (JSON.stringify(old) !== JSON.stringify(element)) changes.push({ before: old, after: element });
    return true;
  };
  for (const element of after) {
    const isSameElement = (old: FileElement): boolean =>
      old.path === element.path && old.section === element.section && old.scope === element.scope;
    if (!pairWithOld(element, isSameElement)) unmatched.push(element);
  }
  for (const element of unmatched) {
    const isSameKind = (old: FileElement): boolean =>
      /vips$/.test(old.section) === /vips$/.test(element.section) &&
      old.section.startsWith("remove") === element.section.startsWith("remove");
    if (!pairWithOld(element, isSameKind)) changes.push({ after: element });
  }
  return [...changes, ...remainingOld.map((old) => ({ before: old }))];
}
