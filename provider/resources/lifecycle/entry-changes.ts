import { type AllowDenyEntryRow, ConflictError, type EntryChange, NotFoundError } from "../../client";
import type { AllowDenyEntryInputs } from "../../settings/arguments";
import { naturalKey } from "../../settings/entry-value";
import { entryKey } from "../../settings/keyed-list";
import { excerpt, quote } from "../../settings/text";
import { isAbout, type Tenant } from "../../tenant";
import { findStillListed } from "./entry-removal";
import { differenceOf, keyOf } from "./entry-state";
import { AlreadyExistsError, commentAdvice, describeEntry, NotAppliedError } from "./errors";
import type { Context } from "./lifecycle";

/** Updates an existing entry to what is declared, unless the program declares that entry separately. */
export async function takeOver(
  existing: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow> {
  const change = differenceOf(existing, inputs);
  if (Object.keys(change).length === 0) return existing;
  if (keyOf(existing, inputs) !== entryKey(inputs) && context.isDeclared(keyOf(existing, inputs))) {
    throw new AlreadyExistsError(
      `The entry ${quote(inputs.value)} can't be taken over for the ${inputs.list} list: the program declares ${describeEntry(existing)} too. Nothing was changed. Keep one of the two declarations.`,
    );
  }
  return await patch(context.tenant, existing.id, change, inputs);
}

/** Updates an entry in place and compares the answer with all declared fields; a difference is fixed once. */
export async function patch(
  tenant: Tenant,
  id: string,
  change: EntryChange,
  inputs: AllowDenyEntryInputs,
): Promise<AllowDenyEntryRow> {
  let row = await send(tenant, id, change, inputs);
  const more = differenceOf(row, inputs);
  // Fields that were not sent but differ were changed by somebody else since the last reading.
  const unseen = Object.keys(more).length > 0 && !Object.keys(more).some((field) => field in change);
  if (unseen) row = await send(tenant, id, more, inputs);
  const missed = Object.keys(differenceOf(row, inputs));
  if (missed.length > 0) {
    const advice = missed.every((field) => field === "comment")
      ? commentAdvice(inputs.comment, row.comment)
      : "Look at it in the console, then run again with a refresh.";
    throw new NotAppliedError(
      `The service answered success to the change of ${Object.keys(change).join(", ")} of ${quote(inputs.value)}, but ${missed.join(", ")} is not as asked: there is ${describeEntry(row)}. ${advice}`,
    );
  }
  return row;
}

async function send(
  tenant: Tenant,
  id: string,
  change: EntryChange,
  inputs: AllowDenyEntryInputs,
): Promise<AllowDenyEntryRow> {
  const isListed = tenant.knownEntry(id) !== undefined;
  let row: AllowDenyEntryRow;
  try {
    row = await tenant.updateEntry(id, change);
  } catch (error) {
    if (error instanceof ConflictError) throw await collision(error, id, inputs, tenant);
    if (error instanceof NotFoundError && isListed) await assertNotListed(error, id, inputs, tenant);
    throw error;
  }
  if (row.id === id && isAbout(row, naturalKey(inputs.entryType, inputs.value))) return row;
  throw new NotAppliedError(
    `The service was asked to change ${quote(inputs.value)} (id ${excerpt(id)}) and answered with ${describeEntry(row)}: whether it was changed is not known. Look at both in the console, and run again, with a refresh.`,
  );
}

/** Prevents creating an entry twice if the service doesn't know its id but lists it. */
async function assertNotListed(
  cause: NotFoundError,
  id: string,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
): Promise<void> {
  const still = await findStillListed(id, inputs, tenant);
  if (still === undefined) return;
  throw new NotAppliedError(
    `The service answers 404 to the change of ${describeEntry(still)}, and its list still shows it. Nothing was changed. Run again; if it stays so, look at it in the console.`,
    { cause },
  );
}

async function collision(
  conflict: ConflictError,
  id: string,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
): Promise<Error> {
  const rows = await tenant.entriesOfValueAnew(inputs).catch(() => []);
  const other = rows.find((row) => row.id !== id);
  if (other === undefined) return conflict;
  return new AlreadyExistsError(
    `The entry ${quote(inputs.value)} can't become what is declared: it collides with ${describeEntry(other)}. Nothing was changed. Remove one of the two in the console, then run again with a refresh.`,
    { cause: conflict },
  );
}
