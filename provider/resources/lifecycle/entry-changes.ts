import { type AllowDenyEntryRow, ConflictError, type EntryChange, NotFoundError } from "../../client";
import type { AllowDenyEntryInputs } from "../../model/arguments";
import { buildEntryDeclarationKey } from "../../model/encoded-list";
import { buildNaturalKey } from "../../model/entry-value";
import { excerpt, quote } from "../../model/text";
import { hasNaturalKey, type TenantCache } from "../../tenant";
import { findLingeringRow } from "./entry-removal";
import { buildEntryChange, buildRowDeclarationKey } from "./entry-state";
import { AlreadyExistsError, describeExistingEntry, formatCommentAdvice, NotAppliedError } from "./errors";
import type { LifecycleContext } from "./lifecycle";

/** Updates an existing entry to what is declared, unless the program declares that entry separately. */
export async function adoptRow(
  existingRow: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: LifecycleContext,
): Promise<AllowDenyEntryRow> {
  const change = buildEntryChange(existingRow, inputs);
  if (Object.keys(change).length === 0) return existingRow;
  if (
    buildRowDeclarationKey(existingRow, inputs) !== buildEntryDeclarationKey(inputs) &&
    context.isDeclared(buildRowDeclarationKey(existingRow, inputs))
  ) {
    throw new AlreadyExistsError(
      `The entry ${quote(inputs.value)} can't be adopted for the ${inputs.list} list: the program also declares ${describeExistingEntry(existingRow)}. Nothing was changed. Keep one of the two declarations.`,
    );
  }
  return await patchEntry(context.tenant, existingRow.id, change, inputs);
}

/**
 * Reports that a resource manages a row from now on that it didn't create.
 *
 * @param row the row before any change.
 */
export function logAdoption(
  row: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  { log }: Pick<LifecycleContext, "log">,
  action = "Adopted",
): void {
  const differingFields = Object.keys(buildEntryChange(row, inputs));
  const outcome =
    differingFields.length === 0
      ? ", unchanged. Deleting the resource also deletes the entry."
      : `; its ${differingFields.join(" and ")} now ${differingFields.length === 1 ? "matches" : "match"} the declaration.`;
  log(`${action} ${describeExistingEntry(row)}${outcome}`);
}

/** Updates an entry in place and compares the response with all declared fields; a difference is fixed once. */
export async function patchEntry(
  tenant: TenantCache,
  id: string,
  requestedChange: EntryChange,
  inputs: AllowDenyEntryInputs,
): Promise<AllowDenyEntryRow> {
  let row = await sendChange(tenant, id, requestedChange, inputs);
  const remainingChange = buildEntryChange(row, inputs);
  // Fields that differ although they were not sent were changed by somebody else since the last read.
  const hasUnseenChange =
    Object.keys(remainingChange).length > 0 && !Object.keys(remainingChange).some((field) => field in requestedChange);
  if (hasUnseenChange) row = await sendChange(tenant, id, remainingChange, inputs);
  const missedFields = Object.keys(buildEntryChange(row, inputs));
  if (missedFields.length > 0) {
    const advice = missedFields.every((field) => field === "comment")
      ? formatCommentAdvice(inputs.comment, row.comment)
      : "Check it in the console, then run again with a refresh.";
    throw new NotAppliedError(
      `The service reported success for the change of the ${Object.keys(requestedChange).join(" and ")} of ${quote(inputs.value)}, but its ${missedFields.join(" and ")} ${missedFields.length === 1 ? "doesn't" : "don't"} match the request: the entry is ${describeExistingEntry(row)}. ${advice}`,
    );
  }
  return row;
}

async function sendChange(
  tenant: TenantCache,
  id: string,
  change: EntryChange,
  inputs: AllowDenyEntryInputs,
): Promise<AllowDenyEntryRow> {
  let row: AllowDenyEntryRow;
  try {
    row = await tenant.updateEntry(id, change);
  } catch (error) {
    if (error instanceof ConflictError) throw await buildCollisionError(error, id, inputs, tenant);
    if (error instanceof NotFoundError) await assertNotStillListed(error, id, inputs, tenant);
    throw error;
  }
  if (row.id === id && hasNaturalKey(row, buildNaturalKey(inputs.entryType, inputs.value))) return row;
  throw new NotAppliedError(
    `The service was asked to change ${quote(inputs.value)} (id ${excerpt(id)}) and returned ${describeExistingEntry(row)}: it is unknown whether it was changed. Check both in the console, then run again with a refresh.`,
  );
}

/** Prevents recreating an entry that is still listed although the service returns 404 for its id. */
async function assertNotStillListed(
  cause: NotFoundError,
  id: string,
  inputs: AllowDenyEntryInputs,
  tenant: TenantCache,
): Promise<void> {
  const listedRow = await findLingeringRow(id, inputs, tenant);
  if (listedRow === undefined) return;
  throw new NotAppliedError(
    `The service returns 404 for the change of ${describeExistingEntry(listedRow)}, but its list still shows it. Nothing was changed. Run again; if the error remains, check it in the console.`,
    { cause },
  );
}

async function buildCollisionError(
  conflictError: ConflictError,
  id: string,
  inputs: AllowDenyEntryInputs,
  tenant: TenantCache,
): Promise<Error> {
  const rows = await tenant.refetchEntriesByValue(inputs).catch(() => []);
  const collidingRow = rows.find((row) => row.id !== id);
  if (collidingRow === undefined) return conflictError;
  return new AlreadyExistsError(
    `The entry ${quote(inputs.value)} can't be changed as declared: it conflicts with ${describeExistingEntry(collidingRow)}. Nothing was changed. Remove one of the two in the console, then run again with a refresh.`,
    { cause: conflictError },
  );
}
