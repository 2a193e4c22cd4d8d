import type { AllowDenyEntryRow } from "../../client";
import { ENTRY_LISTS } from "../../model/assumptions";
import { isRemovalReviewed } from "./enforce-plan";
import { buildRowDeclarationKey, type EntryIdentity, getManagedRowId, hasScope } from "./entry-state";
import type { LifecycleContext } from "./lifecycle";

/** Whether the program declares no such row, and no other provider process of the run manages it. */
export function isUnclaimed(
  row: AllowDenyEntryRow,
  entry: Pick<EntryIdentity, "verdictScope">,
  { isDeclared, isManagedElsewhere }: Pick<LifecycleContext, "isDeclared" | "isManagedElsewhere">,
): boolean {
  return !isDeclared(buildRowDeclarationKey(row, entry)) && !isManagedElsewhere(getManagedRowId(row));
}

/** Whether a resource of this stack has the row in its state. */
export function isManagedRow(
  row: AllowDenyEntryRow,
  entry: Pick<EntryIdentity, "verdictScope">,
  { isManaged }: Pick<LifecycleContext, "isManaged">,
): boolean {
  return isManaged?.(buildRowDeclarationKey(row, entry)) === true;
}

/**
 * Whether the run moves or removes a managed row on the other list. An enforced plan that doesn't
 * show the removal keeps the row, and so does `retainOnDelete`, which the provider doesn't learn.
 */
export function isLeavingRow(row: AllowDenyEntryRow, entry: EntryIdentity, context: LifecycleContext): boolean {
  if (!isManagedRow(row, entry, context)) return false;
  return hasScope(row, entry) || isMoving(row, entry, context) || isRemovalReviewed(row, context);
}

/** Whether the program declares the row for one of the lists: on another list than its own, it is about to move there. */
export function isMoving(
  row: AllowDenyEntryRow,
  entry: Pick<EntryIdentity, "verdictScope">,
  { isDeclared }: Pick<LifecycleContext, "isDeclared">,
): boolean {
  return ENTRY_LISTS.some((list) => isDeclared(buildRowDeclarationKey({ ...row, list }, entry)));
}
