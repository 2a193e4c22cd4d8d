import type { AllowDenyEntryRow } from "../../client";
import { ENTRY_LISTS } from "../../model/assumptions";
import { isOverlappingScope } from "../../model/covering-values";
import { buildEntryDeclarationKey } from "../../model/encoded-list";
import { buildNaturalKey } from "../../model/entry-value";
import { sanitizeLine } from "../../model/text";
import { type Deletion, hasNaturalKey, readConfirmed, type TenantCache } from "../../tenant";
import { isRemovalReviewed } from "./enforce-plan";
import { buildRowDeclarationKey, type EntryIdentity, hasScope, isRowOfEntry } from "./entry-state";
import { AlreadyExistsError, describeExistingEntry, NotAppliedError } from "./errors";
import type { LifecycleContext } from "./lifecycle";
import { isManagedRow, isMoving, isUnclaimed } from "./row-ownership";

interface ClearedEntry extends EntryIdentity {
  readonly formerScope?: string;
  readonly named?: AllowDenyEntryRow | undefined;
}

/**
 * Removes the rows of a declared entry's value, type and scope from the other list. A service may hold one value in several
 * rows, and a move affects only one. Rows that another resource declares or manages stay.
 *
 * @param entry with its former scope after a change of scope, whose rows are removed too; and with the row that the
 * state names, which the lists may not show yet.
 * @param isRemovable returns whether a row may be removed: the entry was moved from there, or the user requested
 * adoption.
 * @param isIgnored see `ensureEntry`.
 * @throws {AlreadyExistsError} if one row may not be removed; then none is.
 */
export async function removeFromOtherList(
  entry: ClearedEntry,
  context: LifecycleContext,
  isRemovable: (row: AllowDenyEntryRow) => boolean,
  isIgnored: (row: AllowDenyEntryRow) => boolean = () => false,
): Promise<void> {
  const { tenant } = context;
  const { named } = entry;
  const isUnclaimedRow = (row: AllowDenyEntryRow): boolean =>
    row.list !== entry.list && isUnclaimed(row, entry, context) && !isIgnored(row);
  const isRemovedScope = (row: AllowDenyEntryRow): boolean =>
    isRowOfEntry(row, entry) ||
    (entry.formerScope !== undefined && isRowOfEntry(row, { ...entry, verdictScope: entry.formerScope })) ||
    isAbandonedAllow(row, entry, context);
  const findRows = async () => {
    const listedRows = await tenant.findEntriesByValue(entry);
    const isListed = named === undefined || listedRows.some(({ id }) => id === named.id);
    const rows = isListed ? listedRows : [...listedRows, named];
    const removableRows = rows.filter(
      (row) => ENTRY_LISTS.some((list) => list === row.list) && isRemovedScope(row) && isUnclaimedRow(row),
    );
    const isRemaining = (row: AllowDenyEntryRow): boolean => isUnclaimedRow(row) && !isRemovedScope(row);
    const remainingRows = findRemainingRows(entry, rows, { ...context, isRemaining });
    return {
      rows,
      remainingRows,
      removableRows,
      unremovableRow: removableRows.find((row) => !isRemovable(row)),
    };
  };
  // The lists may still show a row that an earlier run removed.
  const { rows, remainingRows, removableRows, unremovableRow } = await readConfirmed(
    tenant,
    "entries",
    findRows,
    (foundRows) => foundRows.unremovableRow !== undefined || foundRows.remainingRows.length > 0,
  );
  logRemainingRows(entry, remainingRows, { ...context, isRemaining: () => true });
  if (removableRows.length === 0) return;
  assertOnOneList(removableRows, rows);
  if (unremovableRow !== undefined) {
    throw new AlreadyExistsError(
      `${sanitizeLine(entry.value)} is on the ${entry.list} list, and also on the other list: ${describeExistingEntry(unremovableRow)}, which contradicts the declaration. Nothing was removed. Set \`adopt: true\` to remove it, or remove it in the console. If another resource of this stack declared the value until now, refresh the stack first; if another Provider of the program did, run again after its deletion.`,
    );
  }
  logRemovedDuplicates(entry, await removeRows(removableRows, entry, context), context);
}

/**
 * Removes the rows of an entry's former scope after a change of scope, like a removal of the entry would. A remaining
 * row would keep the former scope in effect.
 */
export async function removeFormerScopeRows(former: EntryIdentity, context: LifecycleContext): Promise<void> {
  const listedRows = await context.tenant.findEntriesByValue(former);
  const rows = listedRows.filter(
    (row) =>
      row.list === former.list &&
      row.entry_type === former.entryType &&
      row.verdict_scope === former.verdictScope &&
      isUnclaimed(row, former, context),
  );
  assertOnOneList(rows, listedRows);
  logRemovedDuplicates(former, await removeRows(rows, former, context), context);
}

function logRemovedDuplicates(
  { value, verdictScope, named }: Pick<ClearedEntry, "value" | "verdictScope" | "named">,
  removedRows: readonly AllowDenyEntryRow[],
  { log }: Pick<LifecycleContext, "log">,
): void {
  const [first] = removedRows;
  if (first === undefined) return;
  const isDuplicate = removedRows.every((row) => hasScope(row, { verdictScope }) && row.id !== named?.id);
  const [item, several] = isDuplicate ? ["a duplicate", "duplicates"] : ["an entry", "entries"];
  log(
    `Removed ${removedRows.length === 1 ? item : `${removedRows.length} ${several}`} of ${sanitizeLine(value)} from the ${first.list} list: ${removedRows.map(describeExistingEntry).join(" | ")}`,
  );
}

/**
 * Throws if both lists show a row with the same id. It is a single row, and one of the lists lags, so it must not be
 * removed from the other.
 *
 * @param rows the rows to remove.
 * @param listedRows all rows of the value.
 */
export function assertOnOneList(rows: readonly AllowDenyEntryRow[], listedRows: readonly AllowDenyEntryRow[]): void {
  const uncertainRow = rows.find((row) => listedRows.some(({ id, list }) => id === row.id && list !== row.list));
  if (uncertainRow === undefined) return;
  throw new NotAppliedError(
    `The tenant has ${describeExistingEntry(uncertainRow)}, and the other list shows the same id: one of the lists lags behind a change. Nothing was removed. Run again with a refresh; if the error remains, check it in the console.`,
  );
}

/**
 * Whether a row is an allow of an overlapping scope that a resource of this stack has in its state and the program no longer
 * declares. The deny removes it itself: the run may keep it when it deletes the resource (`retainOnDelete`), which the provider
 * doesn't learn. An enforced plan must show the removal.
 */
function isAbandonedAllow(row: AllowDenyEntryRow, entry: EntryIdentity, context: LifecycleContext): boolean {
  return (
    entry.list === "deny" &&
    row.list === "allow" &&
    isOverlappingScope(row.verdict_scope ?? entry.verdictScope, entry.verdictScope) &&
    isManagedRow(row, entry, context) &&
    !isMoving(row, entry, context) &&
    isRemovalReviewed(row, context)
  );
}

/** Reports the rows of a value that stay on the tenant's lists without a resource of the stack. */
export function logRemainingRows(
  entry: EntryIdentity,
  rows: readonly AllowDenyEntryRow[],
  context: RemainingRowsContext & Pick<LifecycleContext, "log">,
): void {
  const remainingRows = findRemainingRows(entry, rows, context);
  if (remainingRows.length === 0) return;
  context.log(
    `${sanitizeLine(entry.value)} is also at the tenant as ${remainingRows.map(describeExistingEntry).join(" | ")}, which this program doesn't declare and this resource doesn't manage. Remove unintended ones in the console.`,
  );
}

type RemainingRowsContext = Pick<LifecycleContext, "isDeclared" | "isManaged"> & {
  readonly isRemaining: (row: AllowDenyEntryRow) => boolean;
};

function findRemainingRows(
  entry: EntryIdentity,
  rows: readonly AllowDenyEntryRow[],
  { isDeclared, isManaged, isRemaining }: RemainingRowsContext,
): AllowDenyEntryRow[] {
  return rows.filter((row) => {
    const key = buildRowDeclarationKey(row, entry);
    const isOfOtherResource = key !== buildEntryDeclarationKey(entry) && isManaged?.(key) === true;
    return isRemaining(row) && !isDeclared(key) && !isOfOtherResource;
  });
}

export function logRemovedRows(
  entry: Pick<EntryIdentity, "list" | "value">,
  removedRows: readonly AllowDenyEntryRow[],
  { log }: Pick<LifecycleContext, "log">,
): void {
  const outcome =
    removedRows.length > 1 ? `existed ${removedRows.length} times; all of them are removed` : "is removed";
  log(
    `${sanitizeLine(entry.value)} on the ${entry.list} list ${outcome}: ${removedRows.map(describeExistingEntry).join(" | ")}`,
  );
}

/**
 * Removes the given rows of one value, except those that have moved to the other list, or that the program declares in
 * the meantime.
 *
 * @returns the rows that existed.
 */
export async function removeRows(
  rows: readonly AllowDenyEntryRow[],
  entry: EntryIdentity,
  { tenant, isDeclared }: Pick<LifecycleContext, "tenant" | "isDeclared">,
): Promise<readonly AllowDenyEntryRow[]> {
  const removedRows: AllowDenyEntryRow[] = [];
  for (const row of rows) {
    const isUnchanged = (currentRow: AllowDenyEntryRow): boolean =>
      currentRow.list === row.list &&
      hasNaturalKey(currentRow, buildNaturalKey(entry.entryType, entry.value)) &&
      !isDeclared(buildRowDeclarationKey(currentRow, entry));
    if ((await removeRow(row, entry, isUnchanged, tenant)) === "deleted") removedRows.push(row);
  }
  return removedRows;
}

/**
 * Removes one row by its id, whether or not the lists show it.
 *
 * @param isUnchanged see {@link TenantCache.deleteEntry}.
 * @throws {NotAppliedError} if the lists still show it.
 */
export async function removeRow(
  { id }: Pick<AllowDenyEntryRow, "id">,
  entry: EntryIdentity,
  isUnchanged: (currentRow: AllowDenyEntryRow) => boolean,
  tenant: TenantCache,
): Promise<Deletion> {
  const outcome = await tenant.deleteEntry(id, isUnchanged);
  if (outcome === "deleted" || outcome === "changed" || tenant.hasDeleted(id)) return outcome;
  // The lists may lag, whether or not they show the row.
  if ((await tenant.findEntryConfirmed({ ...entry, id }))?.id !== id) return "gone";
  const listedRow = await findLingeringRow(id, entry, tenant);
  if (listedRow === undefined) return "gone";
  throw new NotAppliedError(
    outcome === "gone"
      ? `The service returns 404 for the deletion of ${describeExistingEntry(listedRow)}, but its list still shows it. It stays in the stack's state. Run again; if the error remains, check it in the console.`
      : `The service was asked to delete ${describeExistingEntry(listedRow)}, but still has it. Run again; if the error remains, check it in the console.`,
  );
}

/** Returns the row of an id that the service says is gone, if its possibly lagging lists still show it. */
export async function findLingeringRow(
  id: string,
  entry: EntryIdentity,
  tenant: TenantCache,
): Promise<AllowDenyEntryRow | undefined> {
  const listedRow = await tenant.readUntil(
    () => tenant.refetchEntry({ ...entry, id }),
    (listedRow) => listedRow?.id !== id,
  );
  return listedRow?.id === id ? listedRow : undefined;
}
