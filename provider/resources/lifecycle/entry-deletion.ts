import type { AllowDenyEntryRow } from "../../client";
import { buildRowValues, ENTRY_FIELD_DEFINITIONS } from "../../model/entry-fields";
import { sanitizeLine } from "../../model/text";
import { enforcePlanForEntry, isPlanEnforced } from "./enforce-plan";
import { logRemainingRows, logRemovedRows, removeRows } from "./entry-removal";
import {
  type AllowDenyEntryState,
  buildRowDeclarationKey,
  findDuplicateRows,
  getManagedId,
  getManagedRowId,
} from "./entry-state";
import { describeExistingEntry, StaleEntryError } from "./errors";
import type { LifecycleContext } from "./lifecycle";
import { isUnclaimed } from "./row-ownership";

/**
 * Removes an entry with its duplicates. Rows stay if the program declares them in the meantime, or if another
 * `Provider` manages them.
 *
 * @throws {StaleEntryError} if somebody moved it to the other list since it was shown.
 */
export async function deleteEntry(id: string, state: AllowDenyEntryState, context: LifecycleContext): Promise<void> {
  const { tenant, log, isDeclared, isManagedElsewhere } = context;
  const entryText = `${state.value} on the ${state.list} list`;
  const entryId = state.entryId ?? id;
  const query = { ...state, id: entryId };
  let current = await tenant.findEntry(query);
  const isStateRow = ({ id, list }: AllowDenyEntryRow) => id === entryId && list === state.list;
  if (current !== undefined && !isStateRow(current)) {
    // The lists may not show the row yet, or may show it as before the last run. Other rows are duplicates only if the
    // lists show the row as in the state.
    const rows = await tenant.findEntriesConfirmed(query, isStateRow);
    current = rows.find(isStateRow) ?? (await tenant.findEntry(query));
  }
  const row = resolveStateRow(current, state, entryId, tenant);
  const logDeclared = ({ list }: AllowDenyEntryRow) =>
    log(
      list === state.list
        ? `${entryText} is kept: the program declares it.`
        : `${state.value} is now on the ${sanitizeLine(list)} list, where the program declares it.`,
    );
  if (row !== undefined && isDeclared(buildRowDeclarationKey(row, state))) {
    logDeclared(row);
    return;
  }
  if (isManagedElsewhere(getManagedId(query))) {
    log(
      `${entryText} is kept: another Provider of the program manages it, with another key or address of this tenant.`,
    );
    return;
  }
  await context.confirmTenant("entries", { isRemoval: true });
  const buildMovedError = (movedRow: AllowDenyEntryRow, outcome: string) =>
    new StaleEntryError(
      `The entry to delete, ${entryText}, was moved in the meantime: it is now ${describeExistingEntry(movedRow)}. The preview did not show its deletion, so ${outcome}. Refresh, then run again.`,
    );
  if (row !== undefined && row.list !== state.list) throw buildMovedError(row, "nothing was deleted");
  if (isPlanEnforced(context)) await enforcePlanForEntry({ ...state, id: entryId }, undefined, context);
  if (tenant.hasDeleted(entryId)) {
    log(formatRemovedAsDuplicate(entryText));
    return;
  }
  const isManagedHere = (item: AllowDenyEntryRow) => !isManagedElsewhere(getManagedRowId(item));
  const rows = await tenant.findEntriesByValue(query);
  const duplicates =
    row === undefined
      ? []
      : findDuplicateRows(row, rows).filter(
          (duplicateRow) => duplicateRow.id !== row.id && isManagedHere(duplicateRow),
        );
  // The row that the state names is deleted last: if a deletion fails, the resource stays in the state, and the next
  // run continues with it. If that row was neither listed nor deleted, another one has been created since.
  const isListed = current?.id === entryId;
  const removedRows = isListed ? [...(await removeRows(duplicates, state, context))] : [];
  const isDeleted = row !== undefined && (await removeRows([row], state, context)).length > 0;
  if (isDeleted) removedRows.push(row, ...(isListed ? [] : await removeRows(duplicates, state, context)));
  const removed = new Set([entryId, ...removedRows.map((removedRow) => removedRow.id)]);
  if (removedRows.length > 0) {
    logRemainingRows(state, rows, {
      ...context,
      isRemaining: (item) => !removed.has(item.id) && isManagedHere(item),
    });
    if (removedRows.length > 1 || !isDeleted) logRemovedRows(state, removedRows, context);
    if (isDeleted) return;
  }
  const changedRow =
    row === undefined || isDeleted
      ? undefined
      : (await tenant.findEntriesByValue(query)).find(
          (entry) =>
            entry.id === row.id && (entry.list !== row.list || isDeclared(buildRowDeclarationKey(entry, state))),
        );
  if (changedRow !== undefined) {
    if (!isDeclared(buildRowDeclarationKey(changedRow, state)))
      throw buildMovedError(changedRow, removedRows.length > 0 ? "it was kept" : "nothing was deleted");
    logDeclared(changedRow);
    return;
  }
  if (removedRows.length > 0) return;
  const isDuplicate = tenant.hasDeleted(entryId);
  const replacement = current?.id === entryId ? await tenant.refetchEntry(query) : current;
  if (replacement === undefined || removed.has(replacement.id)) {
    logRemainingRows(state, rows, {
      ...context,
      isRemaining: (item) => !removed.has(item.id) && item.list !== state.list && isManagedHere(item),
    });
    log(
      isDuplicate
        ? formatRemovedAsDuplicate(entryText)
        : `${entryText} was already gone: nothing was deleted at ${tenant.baseUrl}. If that is unexpected, check that the API key belongs to the right tenant.`,
    );
    return;
  }
  if (isDeclared(buildRowDeclarationKey(replacement, state))) return;
  // With several rows, it is unknown which existed before and which were created since.
  const unclaimedRows = (await tenant.findEntriesByValue(query)).filter((entry) => isUnclaimed(entry, state, context));
  log(
    unclaimedRows.length > 1
      ? `${entryText} was already gone; ${unclaimedRows.map(describeExistingEntry).join(" | ")} exist at the tenant, and are kept.`
      : `${entryText} was already gone; ${describeExistingEntry(replacement)} was created in its place and is kept.`,
  );
}

/**
 * Returns the row that a state names by its id. If no list shows that id, assumes that it is as in the state: the lists
 * may lag, and the service resolves the id. Undefined if the id is known to belong to something else.
 *
 * @param current the row that a lookup in the snapshot found for the entry.
 */
export function resolveStateRow(
  current: AllowDenyEntryRow | undefined,
  state: AllowDenyEntryState,
  id: string,
  tenant: LifecycleContext["tenant"],
): AllowDenyEntryRow | undefined {
  if (current?.id === id) return current;
  if (tenant.getCachedEntry(id) !== undefined) return undefined;
  const values = buildRowValues(ENTRY_FIELD_DEFINITIONS, { ...state }) as Omit<AllowDenyEntryRow, "id">;
  return { ...values, id, created_at: state.createdAt, created_by: state.createdBy };
}

function formatRemovedAsDuplicate(entryText: string): string {
  return `${entryText} is removed: this run removed it with another entry of the same value.`;
}
