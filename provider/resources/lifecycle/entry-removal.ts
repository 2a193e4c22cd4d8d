import type { AllowDenyEntryRow } from "../../client";
import type { AllowDenyEntryInputs } from "../../settings/arguments";
import { LISTS } from "../../settings/assumptions";
import { naturalKey } from "../../settings/entry-value";
import { printable } from "../../settings/text";
import { type Deletion, isAbout, readConfirmed, type Tenant } from "../../tenant";
import { type EntryPlace, holdKeyOf, keyOf } from "./entry-state";
import { AlreadyExistsError, describeEntry, NotAppliedError } from "./errors";
import type { Context } from "./lifecycle";

/**
 * Removes the rows of a declared entry's value and scope from the other list. A service may hold one value in several rows, and
 * a move affects only one. Rows that another resource declares or manages stay.
 *
 * @param entry with the scope from which it was moved, where that was another one: rows of that one go too; and with the row that the
 * state names, which the lists may not show yet.
 * @param isRemovable whether one may be removed: the entry was moved from there, or the user said to adopt.
 * @param isLeftAlone as of `ensureEntry`.
 * @throws {AlreadyExistsError} when there is one that may not be removed; then none is.
 */
export async function clearOtherList(
  entry: EntryPlace & { readonly formerScope?: string; readonly named?: AllowDenyEntryRow | undefined },
  { tenant, isDeclared, isHeldElsewhere, say }: Context,
  isRemovable: (row: AllowDenyEntryRow) => boolean,
  isLeftAlone: (row: AllowDenyEntryRow) => boolean = () => false,
): Promise<void> {
  const { named } = entry;
  const isRemaining = (row: AllowDenyEntryRow): boolean =>
    row.list !== entry.list && !isHeldElsewhere(holdKeyOf(row)) && !isLeftAlone(row);
  const isRemovedScope = (row: AllowDenyEntryRow): boolean =>
    [entry.verdictScope, entry.formerScope].includes(row.verdict_scope ?? entry.verdictScope);
  const findRows = async () => {
    const listedRows = await tenant.entriesOfValue(entry);
    const isListed = named === undefined || listedRows.some(({ id }) => id === named.id);
    const rows = isListed ? listedRows : [...listedRows, named];
    const removableRows = rows.filter(
      (row) =>
        LISTS.some((list) => list === row.list) &&
        isRemovedScope(row) &&
        !isDeclared(keyOf(row, entry)) &&
        isRemaining(row),
    );
    const leftRows = rows.filter(
      (row) => isRemaining(row) && !isRemovedScope(row) && !isDeclared(keyOf(row, entry)),
    );
    return { leftRows, removableRows, unremovableRow: removableRows.find((row) => !isRemovable(row)) };
  };
  // The lists may still show one that an earlier run removed.
  const { leftRows, removableRows, unremovableRow } = await readConfirmed(
    tenant,
    "entries",
    findRows,
    (found) => found.unremovableRow !== undefined || found.leftRows.length > 0,
  );
  sayLeftRows(entry, leftRows, { isDeclared, say, isLeft: () => true });
  const [first] = removableRows;
  if (first === undefined) return;
  if (unremovableRow !== undefined) {
    throw new AlreadyExistsError(
      `${printable(entry.value)} is on the ${entry.list} list, and on the other list too: there is ${describeEntry(unremovableRow)}, which contradicts what is declared. Nothing was changed. Say \`adopt: true\` to have it removed, or remove it in the console.`,
    );
  }
  const removedRows = await removeRows(removableRows, entry, tenant);
  if (removedRows.length > 0) sayRemovedDuplicates({ ...entry, list: first.list }, removedRows, { say });
}

/** Reports the duplicates of an entry that were removed from a list. */
export function sayRemovedDuplicates(
  { value, list }: { readonly value: string; readonly list: string },
  removedRows: readonly AllowDenyEntryRow[],
  { say }: Pick<Context, "say">,
): void {
  say(
    `Removed ${removedRows.length === 1 ? "a duplicate" : `${removedRows.length} duplicates`} of ${printable(value)} from the ${list} list: ${removedRows.map(describeEntry).join(" | ")}`,
  );
}

/** Reports the rows of a value that stay on the tenant's lists without a resource of the program. */
export function sayLeftRows(
  entry: Pick<AllowDenyEntryInputs, "value" | "entryType" | "verdictScope">,
  rows: readonly AllowDenyEntryRow[],
  {
    isDeclared,
    isLeft,
    say,
  }: Pick<Context, "isDeclared" | "say"> & { readonly isLeft: (row: AllowDenyEntryRow) => boolean },
): void {
  const remainingRows = rows.filter((row) => isLeft(row) && !isDeclared(keyOf(row, entry)));
  if (remainingRows.length === 0) return;
  say(
    `${printable(entry.value)} is also at the tenant as ${remainingRows.map(describeEntry).join(" | ")}, which this program doesn't declare. It stays; remove it in the console if it isn't meant.`,
  );
}

/**
 * Removes the given rows of one value, except those that have changed meanwhile.
 *
 * @returns the rows that existed.
 */
export async function removeRows(
  rows: readonly AllowDenyEntryRow[],
  entry: EntryPlace,
  tenant: Tenant,
): Promise<readonly AllowDenyEntryRow[]> {
  const removedRows: AllowDenyEntryRow[] = [];
  for (const row of rows) {
    const isUnchanged = (currentRow: AllowDenyEntryRow): boolean =>
      currentRow.list === row.list && isAbout(currentRow, naturalKey(entry.entryType, entry.value));
    if ((await removeRow(row, entry, isUnchanged, tenant)) === "deleted") removedRows.push(row);
  }
  return removedRows;
}

/**
 * Removes one row by its id, whether or not the lists show it.
 *
 * @param isUnchanged as of {@link Tenant.deleteEntry}.
 * @throws {NotAppliedError} when the lists still show it.
 */
export async function removeRow(
  { id }: Pick<AllowDenyEntryRow, "id">,
  entry: EntryPlace,
  isUnchanged: (currentRow: AllowDenyEntryRow) => boolean,
  tenant: Tenant,
): Promise<Deletion> {
  const outcome = await tenant.deleteEntry(id, isUnchanged);
  if (outcome === "deleted" || outcome === "changed" || tenant.hasDeleted(id)) return outcome;
  // A list without it may lag, and so may one that shows it.
  if ((await tenant.findEntrySurely({ ...entry, id }))?.id !== id) return "gone";
  const listedRow = await findStillListed(id, entry, tenant);
  if (listedRow === undefined) return "gone";
  throw new NotAppliedError(
    outcome === "gone"
      ? `The service answers 404 to the deletion of ${describeEntry(listedRow)}, and its list still shows it. It stays in the stack's state. Run again; if it stays, look at it in the console.`
      : `The service was asked to delete ${describeEntry(listedRow)}, and still has it. Run again; if it stays, look at it in the console.`,
  );
}

/** Returns the row of an id that the service says is gone, if its possibly lagging lists still show it. */
export async function findStillListed(
  id: string,
  entry: EntryPlace,
  tenant: Tenant,
): Promise<AllowDenyEntryRow | undefined> {
  const listedRow = await tenant.readUntil(
    () => tenant.findEntryAnew({ ...entry, id }),
    (listedRow) => listedRow?.id !== id,
  );
  return listedRow?.id === id ? listedRow : undefined;
}
