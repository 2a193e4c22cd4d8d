import { type AllowDenyEntryRow, ConflictError, EmailSecurityError, NotFoundError } from "../../client";
import type { AllowDenyEntryInputs } from "../../model/arguments";
import { ENTRY_LISTS } from "../../model/assumptions";
import { isSameComment } from "../../model/compare-arguments";
import { getErrorMessage } from "../../model/email-security-error";
import { buildEntryDeclarationKey } from "../../model/encoded-list";
import { buildCreateBody, ENTRY_FIELD_DEFINITIONS } from "../../model/entry-fields";
import { describeDetails } from "../../model/entry-state-text";
import { canonicalizeValue } from "../../model/entry-value";
import { canonicalizeComment, quote, sanitizeLine } from "../../model/text";
import { type CreatedEntry, readConfirmed, type TenantCache } from "../../tenant";
import { logEntryDuplicates } from "./duplicate-rows";
import { enforcePlanForAdoption } from "./enforce-plan";
import { adoptRow, logAdoption, patchEntry } from "./entry-changes";
import { buildConflictError, findConflictingAllow } from "./entry-conflicts";
import { removeFromOtherList, removeRow } from "./entry-removal";
import {
  type AllowDenyEntryState,
  buildAllowDenyEntryState,
  buildEntryChange,
  buildRowDeclarationKey,
  type EntryIdentity,
  findDuplicateRows,
  getManagedRowId,
  getResourceId,
  isRowOfEntry,
} from "./entry-state";
import { AlreadyExistsError, describeExistingEntry, NotAppliedError, WrongListError } from "./errors";
import { isDefined, type LifecycleContext, PartialFailureError } from "./lifecycle";
import { isManagedRow, isMoving } from "./row-ownership";

/*
 * Brings an entry to its declared state: observe, ensure, compare. Single entries and whole lists share this code, so they
 * agree.
 */

/**
 * Ensures that the service holds the entry as declared: observes, adds or adopts, and compares every response with the
 * request.
 *
 * @param isIgnored returns whether to leave a row of the value on the other list alone, for example because a list
 * ignores it. Default: none.
 * @param onFound called with an existing row before it is compared.
 * @throws {AlreadyExistsError} if the service holds a different entry or a conflicting allow that may not be changed.
 */
export async function ensureEntry(
  inputs: AllowDenyEntryInputs,
  context: LifecycleContext,
  isIgnored?: (row: AllowDenyEntryRow) => boolean,
  onFound?: (row: AllowDenyEntryRow) => void,
): Promise<AllowDenyEntryRow> {
  const row = await context.tenant.runExclusive(inputs, async () => {
    const row = await ensureUnlocked(inputs, context, isIgnored, onFound);
    // An allow in the state of this stack may coexist with a deny, because an update of the allow leaves the deny too.
    const isOwnAllow = inputs.list === "allow" && context.isManaged?.(buildEntryDeclarationKey(inputs)) === true;
    // A row is removable if a resource of this stack moved the entry from there, or if the user requested adoption.
    const isRemovable = (candidate: AllowDenyEntryRow): boolean =>
      (inputs.adopt === true && !isOwnAllow) || isManagedRow(candidate, inputs, context);
    await removeFromOtherList(
      inputs,
      context,
      isRemovable,
      (candidate) => isIgnored?.(candidate) === true || (isOwnAllow && !isRemovable(candidate)),
    );
    return row;
  });
  context.shareManagedIds([getManagedRowId(row)]);
  return row;
}

/**
 * Finds the entry at the service. The lists may lag, so one read isn't always sufficient. If a resource's state
 * names the entry, for example before a rename, a read without it, or with it on the other list, needs confirmation.
 * If no state names it, a read that shows it needs confirmation, because an earlier run may have removed it moments
 * ago.
 */
export async function findManagedEntry(
  entry: AllowDenyEntryInputs,
  context: LifecycleContext,
): Promise<AllowDenyEntryRow | undefined> {
  const { tenant, isManaged } = context;
  const existingRow = await readConfirmed(
    tenant,
    "entries",
    () => tenant.findEntry(entry),
    (row) => row !== undefined && isUnproven(row, entry, context),
  );
  if (isManaged === undefined) return existingRow;
  const matchesState = (row: AllowDenyEntryRow) => isManaged(buildRowDeclarationKey(row, entry));
  if (existingRow !== undefined && matchesState(existingRow)) return existingRow;
  const isInState = ENTRY_LISTS.some((list) => isManaged(buildEntryDeclarationKey({ ...entry, list })));
  return isInState ? await tenant.findEntryConfirmed(entry, { matchesState }) : existingRow;
}

/**
 * Returns whether only the lists, which may lag, show that the service holds a row. A row is proven if a resource's
 * state names it, or if a change of it follows, which returns 404 for a deleted row.
 */
function isUnproven(row: AllowDenyEntryRow, inputs: AllowDenyEntryInputs, context: LifecycleContext): boolean {
  if (isManagedRow(row, inputs, context)) return false;
  return inputs.adopt !== true || rowMatchesDeclaration(row, inputs);
}

export function rowMatchesDeclaration(row: AllowDenyEntryRow, inputs: AllowDenyEntryInputs): boolean {
  return Object.keys(buildEntryChange(row, inputs)).length === 0;
}

async function ensureUnlocked(
  inputs: AllowDenyEntryInputs,
  context: LifecycleContext,
  isIgnored?: (row: AllowDenyEntryRow) => boolean,
  onFound?: (row: AllowDenyEntryRow) => void,
): Promise<AllowDenyEntryRow> {
  const { tenant } = context;
  const goneIds = new Set<string>();
  for (;;) {
    const { row, conflict, duplicates } = await readConfirmed(
      tenant,
      "entries",
      () => findExisting(inputs, context, isIgnored),
      (existing) =>
        existing.conflict === undefined
          ? existing.row !== undefined && isUnproven(existing.row, inputs, context)
          : existing.row !== undefined || !inputs.adopt,
    );
    // An update can't change the type of an entry, so one of another type can't be adopted.
    const isAdoptable = row === undefined && inputs.adopt === true && conflict?.entry_type === inputs.entryType;
    if (conflict !== undefined && !isAdoptable) throw buildConflictError(inputs, conflict);
    // With `adopt`, the allow is adopted, whether or not the service would hold both.
    const adoptedRow = row ?? conflict;
    if (adoptedRow === undefined) break;
    if (row !== undefined) onFound?.(row);
    // Duplicates on the other list are removed, and reported then.
    if (row?.list === inputs.list) logEntryDuplicates([[row, duplicates]], context);
    try {
      const result = await adoptEntry(adoptedRow, inputs, context);
      if (conflict !== undefined) {
        const formerScope = conflict.verdict_scope ?? inputs.verdictScope;
        await removeFromOtherList({ ...inputs, formerScope }, context, () => true, isIgnored);
      }
      return result;
    } catch (error) {
      // The lists still showed a row that is gone.
      if (!(error instanceof NotFoundError) || goneIds.has(adoptedRow.id)) throw error;
      goneIds.add(adoptedRow.id);
    }
  }
  return await createUnlocked(inputs, context);
}

/** Finds the existing row of an entry, preferring the duplicate that is as declared, and the conflicting allow. */
async function findExisting(
  inputs: AllowDenyEntryInputs,
  context: LifecycleContext,
  isIgnored?: (row: AllowDenyEntryRow) => boolean,
) {
  const { tenant } = context;
  const existingRow = await tenant.findEntry(inputs);
  const findConflict = (isOther: (row: AllowDenyEntryRow) => boolean) =>
    findConflictingAllow(inputs, context, (row) => !isOther(row) || isIgnored?.(row) === true);
  // An allow of another type can't be adopted, so it comes first. One of the same type and scope is the entry itself,
  // which is on the wrong list.
  const conflict =
    (await findConflict(({ entry_type }) => entry_type !== inputs.entryType)) ??
    (await findConflict((row) => !isRowOfEntry(row, inputs)));
  if (existingRow === undefined) return { row: undefined, conflict, duplicates: [] };
  const duplicates = findDuplicateRows(existingRow, await tenant.findEntriesByValue(inputs));
  const row = duplicates.find((duplicate) => rowMatchesDeclaration(duplicate, inputs)) ?? existingRow;
  return { row, conflict, duplicates };
}

async function createUnlocked(inputs: AllowDenyEntryInputs, context: LifecycleContext): Promise<AllowDenyEntryRow> {
  const { tenant } = context;
  let created: CreatedEntry;
  try {
    created = await tenant.createEntry(
      buildCreateBody(ENTRY_FIELD_DEFINITIONS, { ...inputs }) as unknown as Parameters<TenantCache["createEntry"]>[0],
    );
  } catch (error) {
    const existingRow = error instanceof ConflictError ? await findCollidingRow(inputs, context) : undefined;
    if (existingRow === undefined) throw error;
    return await adoptEntry(existingRow, inputs, context);
  }
  // If the service returns success with an existing entry, there is nothing to revert.
  if (!created.isNew) return await adoptEntry(created.row, inputs, context);
  return await settleCreated(created.row, inputs, tenant);
}

/**
 * Finds an undeclared entry of the same value with another scope or type. The service decides whether both may exist; this is called
 * only when it reports a conflict.
 */
async function findBlockingRow(
  inputs: AllowDenyEntryInputs,
  context: LifecycleContext,
): Promise<AllowDenyEntryRow | undefined> {
  const rows = await context.tenant.findEntriesByValue(inputs);
  // An entry declared for the other list is about to move there, and belongs to another resource.
  return rows.find((row) => !isMoving(row, inputs, context));
}

/** Finds the row with which a create collided. The list may not show it yet. */
async function findCollidingRow(
  inputs: AllowDenyEntryInputs,
  context: LifecycleContext,
): Promise<AllowDenyEntryRow | undefined> {
  const { tenant } = context;
  try {
    return await tenant.readUntil(
      async () => (await tenant.refetchEntry(inputs)) ?? (await findBlockingRow(inputs, context)),
      isDefined,
    );
  } catch {
    // The conflict is the error to report.
    return undefined;
  }
}

/** Adopts an existing entry if it equals the declared one, or if the user requested it. */
async function adoptEntry(
  existing: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: LifecycleContext,
): Promise<AllowDenyEntryRow> {
  const isSameValue = canonicalizeValue(existing.value) === canonicalizeValue(inputs.value);
  if (isSameValue && existing.entry_type !== inputs.entryType) {
    throw new AlreadyExistsError(
      `${sanitizeLine(inputs.value)} can't be created on the ${inputs.list} list: the service refuses it next to ${describeExistingEntry(existing)}. An entry's type can't be changed, so that entry can't be adopted. Nothing was changed. Remove it in the console, or remove the declaration.`,
    );
  }
  if (!isSameValue) {
    throw new NotAppliedError(
      `The service was asked to create ${quote(inputs.value)} and returned ${describeExistingEntry(existing)}, which existed before. Nothing was changed.`,
    );
  }
  const differingFields = Object.keys(buildEntryChange(existing, inputs));
  if (differingFields.length === 0) return existing;
  const isManaged = isManagedRow(existing, inputs, context);
  if (inputs.adopt || isManaged) {
    enforcePlanForAdoption(existing, inputs, context);
    const row = await adoptRow(existing, inputs, context);
    logAdoption(existing, inputs, context, isManaged ? "Changed in place, not replaced:" : "Adopted");
    return row;
  }
  throw new AlreadyExistsError(
    `${sanitizeLine(inputs.value)} can't be created on the ${inputs.list} list: an entry already exists, with a different ${differingFields.join(" and ")}.\n` +
      `  there     ${describeExistingEntry(existing)}\n` +
      `  declared  ${describeDeclared(inputs)}\n` +
      "Nothing was changed. Set `adopt: true` to adopt it and change it as declared, or declare it with its existing values, or remove it in the console. If another resource of this stack declared it until now, refresh the stack first, so that it is changed in place.",
  );
}

/** Compares the response of a create with the request: removes an entry that can't be fixed, and updates the rest. */
async function settleCreated(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  tenant: TenantCache,
): Promise<AllowDenyEntryRow> {
  const request = `${quote(inputs.value)} on the ${inputs.list} list`;
  if (created.list !== inputs.list) {
    throw await revertCreated(
      created,
      inputs,
      tenant,
      (outcome) =>
        new WrongListError(
          `The service was asked to create ${request} and returned ${describeExistingEntry(created)}. ${outcome}`,
        ),
    );
  }
  if (canonicalizeValue(created.value) !== canonicalizeValue(inputs.value) || created.entry_type !== inputs.entryType) {
    throw await revertCreated(
      created,
      inputs,
      tenant,
      (outcome) =>
        new NotAppliedError(
          `The service was asked to create ${request} as ${inputs.entryType} and returned ${describeExistingEntry(created)} of type ${quote(created.entry_type)}. ${outcome}`,
        ),
    );
  }
  const change = buildEntryChange(created, inputs);
  if (Object.keys(change).length === 0) return created;
  try {
    return await patchEntry(tenant, created.id, change, inputs);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    throw buildPartialFailure(created, inputs, error);
  }
}

function buildPartialFailure(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  error: EmailSecurityError,
): PartialFailureError<AllowDenyEntryState> {
  const id = getResourceId(created);
  return new PartialFailureError(id, buildAllowDenyEntryState(id, created, inputs), error);
}

/**
 * Removes an incorrectly created entry immediately. If it can't be removed, it goes into state, so that it isn't lost.
 */
async function revertCreated(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  tenant: TenantCache,
  buildFailure: (outcome: string) => EmailSecurityError,
): Promise<Error> {
  // Another writer may have created it at the same moment, so an entry that doesn't match the request isn't removed.
  if (canonicalizeComment(created.comment) !== "" && !isSameComment(created.comment, inputs.comment)) {
    return buildFailure(
      "It doesn't match the request, so it was not changed. Check it in the console, then run again.",
    );
  }
  try {
    const entryType = created.entry_type as EntryIdentity["entryType"];
    await removeRow(created, { ...inputs, entryType, value: created.value }, () => true, tenant);
  } catch (error) {
    const reason = getErrorMessage(error);
    const outcome = `It could NOT be removed (${reason}). Remove it in the console, or run again: it is recorded in the stack's state.`;
    return buildPartialFailure(created, inputs, buildFailure(outcome));
  }
  return buildFailure("That entry was removed immediately; nothing is left behind.");
}

function describeDeclared(inputs: AllowDenyEntryInputs): string {
  return `${sanitizeLine(inputs.value)} on the ${inputs.list} list (scope ${quote(inputs.verdictScope)}, ${describeDetails(inputs)})`;
}
