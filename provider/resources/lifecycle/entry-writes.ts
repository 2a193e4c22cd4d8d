import { type AllowDenyEntryRow, ConflictError, EmailSecurityError } from "../../client";
import type { AllowDenyEntryInputs } from "../../settings/arguments";
import { LISTS } from "../../settings/assumptions";
import { sameComment } from "../../settings/comparable";
import { createBody, ENTRY_FIELDS } from "../../settings/entry-fields";
import { canonicalValue, naturalKey } from "../../settings/entry-value";
import { entryKey } from "../../settings/keyed-list";
import { describeDetails } from "../../settings/standing-text";
import { canonicalComment, printable, quote } from "../../settings/text";
import type { CreatedEntry, Tenant } from "../../tenant";
import { patch, takeOver } from "./entry-changes";
import { conflictingAllow, conflictOf } from "./entry-conflicts";
import { clearOtherList, removeRow } from "./entry-removal";
import {
  type AllowDenyEntryState,
  differenceOf,
  duplicatesOf,
  type EntryPlace,
  holdKeyOf,
  isOfScope,
  keyOf,
  resourceId,
  stateOf,
} from "./entry-state";
import { AlreadyExistsError, describeEntry, NotAppliedError, WrongListError } from "./errors";
import { holdTakenOver } from "./held-to-plan";
import { type Context, isDefined, PartialFailure } from "./lifecycle";
import { sayTwins } from "./twins";

/*
 * Brings an entry to its declared state: observe, ensure, compare. Single entries and whole lists share this code, so they
 * agree.
 */

/**
 * Ensures that the service holds the entry as declared: observes, adds or adopts, and compares every answer with the request.
 *
 * @param leaves whether to leave a row of the value on the other list alone, for example because a list ignores it. Default:
 * never.
 * @throws {AlreadyExistsError} if the service holds a different entry or a conflicting allow that may not be changed.
 */
export async function ensureEntry(
  inputs: AllowDenyEntryInputs,
  context: Context,
  leaves?: (row: AllowDenyEntryRow) => boolean,
): Promise<AllowDenyEntryRow> {
  const row = await context.tenant.inTurn(inputs, async () => {
    const row = await ensured(inputs, context, leaves);
    // A row that a resource of this stack moved from there, or that the user asked to adopt.
    const isMeant = (one: AllowDenyEntryRow) =>
      inputs.adopt || context.isManaged?.(keyOf(one, inputs)) === true;
    await clearOtherList(inputs, context, isMeant, leaves);
    return row;
  });
  context.hold([holdKeyOf(row)]);
  return row;
}

/**
 * Finds the entry at the service. If a resource's state names it, for example before a rename, one reading without it, or with
 * it on the other list, isn't sufficient.
 */
export async function findManagedEntry(
  entry: EntryPlace,
  { tenant, isManaged }: Context,
): Promise<AllowDenyEntryRow | undefined> {
  const found = await tenant.findEntry(entry);
  if (isManaged === undefined) return found;
  const isAsInState = (row: AllowDenyEntryRow) => isManaged(keyOf(row, entry));
  if (found !== undefined && isAsInState(found)) return found;
  const isNamed = LISTS.some((list) => isManaged(entryKey({ ...entry, list })));
  return isNamed ? await tenant.findEntrySurely(entry, { isAsInState }) : found;
}

async function ensured(
  inputs: AllowDenyEntryInputs,
  context: Context,
  leaves?: (row: AllowDenyEntryRow) => boolean,
): Promise<AllowDenyEntryRow> {
  const { tenant } = context;
  const found = await tenant.findEntry(inputs);
  // An allow of the same scope is the entry itself, on the wrong list.
  const conflict = await conflictingAllow(
    inputs,
    context,
    (row) => isOfScope(row, inputs) || leaves?.(row) === true,
  );
  // An adopting entry takes over the allow, whether or not the service would accept both.
  if (conflict !== undefined && inputs.adopt && found === undefined) {
    const row = await adopt(conflict, inputs, context);
    const formerScope = conflict.verdict_scope ?? inputs.verdictScope;
    await clearOtherList({ ...inputs, formerScope }, context, () => true, leaves);
    return row;
  }
  if (conflict !== undefined) throw conflictOf(inputs, conflict);
  if (found !== undefined) return await adopt(await asDeclaredOf(found, inputs, context), inputs, context);
  let created: CreatedEntry;
  try {
    created = await tenant.createEntry(
      createBody(ENTRY_FIELDS, { ...inputs }) as unknown as Parameters<Tenant["createEntry"]>[0],
    );
  } catch (error) {
    const found = error instanceof ConflictError ? await colliding(inputs, context) : undefined;
    if (found === undefined) throw error;
    return await adopt(found, inputs, context);
  }
  // If the service reports success for an existing entry, nothing was created that could be undone.
  if (!created.isNew) return await adopt(created.row, inputs, context);
  return await settle(created.row, inputs, tenant);
}

/** Returns the entry with the declared spelling among several that compare as equal. */
async function asDeclaredOf(
  found: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow> {
  const twins = duplicatesOf(found, await context.tenant.entriesOfValue(inputs));
  if (twins.length < 2) return found;
  const chosen = twins.find((row) => Object.keys(differenceOf(row, inputs)).length === 0) ?? found;
  sayTwins([[chosen, twins]], describeEntry, context);
  return chosen;
}

/**
 * Finds an undeclared entry of the same value with another scope. The service decides whether both may exist; this is called
 * only when it reports a conflict.
 */
async function inTheWay(
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow | undefined> {
  const rows = await context.tenant.entriesOfValue(inputs);
  // An entry declared for the other list is about to move there, and has an owner.
  return rows.find((row) => !LISTS.some((list) => context.isDeclared(keyOf({ ...row, list }, inputs))));
}

/** Finds the entry that the service reports as a conflict. Its list may not show that entry yet. */
async function colliding(
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow | undefined> {
  const { tenant } = context;
  try {
    return await tenant.readUntil(
      async () => (await tenant.findEntryAnew(inputs)) ?? (await inTheWay(inputs, context)),
      isDefined,
    );
  } catch {
    // The conflict is the failure to report.
    return undefined;
  }
}

/** Adopts an existing entry if it equals the declared one, or if the user asked for it. */
async function adopt(
  existing: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow> {
  if (naturalKey(existing.entry_type, existing.value) !== naturalKey(inputs.entryType, inputs.value)) {
    throw new NotAppliedError(
      `The service was asked to create ${quote(inputs.value)} and answered with ${describeEntry(existing)}, which stood there before. Nothing was changed.`,
    );
  }
  const differing = Object.keys(differenceOf(existing, inputs));
  if (differing.length === 0) return existing;
  const isManaged = context.isManaged?.(keyOf(existing, inputs)) === true;
  if (inputs.adopt || isManaged) {
    holdTakenOver(existing, inputs, context);
    const done = isManaged ? "Changed in place, not replaced:" : "Took over";
    context.say(`${done} ${describeEntry(existing)}; its ${differing.join(" and ")} is now as declared.`);
    return await takeOver(existing, inputs, context);
  }
  throw new AlreadyExistsError(
    `${printable(inputs.value)} can't be created on the ${inputs.list} list: there is an entry already, with another ${differing.join(" and ")}.\n` +
      `  there     ${describeEntry(existing)}\n` +
      `  declared  ${describeDeclared(inputs)}\n` +
      "Nothing was changed. Say `adopt: true` to take it over and change it to what is declared, or declare it as it stands, or remove it in the console. If this stack declared it until now, by another resource, run `pulumi up --refresh`: then it is changed in place.",
  );
}

/** Compares the answer of a create with the request: undoes what can't be corrected, and fixes the rest. */
async function settle(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
): Promise<AllowDenyEntryRow> {
  const asked = `${quote(inputs.value)} on the ${inputs.list} list`;
  if (created.list !== inputs.list) {
    throw await undo(
      created,
      inputs,
      tenant,
      (outcome) =>
        new WrongListError(
          `The service was asked to put ${asked} and answered with ${describeEntry(created)}. ${outcome}`,
        ),
    );
  }
  if (
    canonicalValue(created.value) !== canonicalValue(inputs.value) ||
    created.entry_type !== inputs.entryType
  ) {
    throw await undo(
      created,
      inputs,
      tenant,
      (outcome) =>
        new NotAppliedError(
          `The service was asked to put ${asked} as ${inputs.entryType} and answered with ${describeEntry(created)} of type ${quote(created.entry_type)}. ${outcome}`,
        ),
    );
  }
  const change = differenceOf(created, inputs);
  if (Object.keys(change).length === 0) return created;
  try {
    return await patch(tenant, created.id, change, inputs);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    throw partialOf(created, inputs, error);
  }
}

/** Builds the failure to bring a created entry to what is declared. */
function partialOf(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  error: EmailSecurityError,
): PartialFailure<AllowDenyEntryState> {
  const id = resourceId(created);
  return new PartialFailure(id, stateOf(id, created, inputs), error);
}

/** Removes a wrong entry immediately after its creation. If that fails, keeps it in state so that it isn't lost. */
async function undo(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
  failure: (outcome: string) => EmailSecurityError,
): Promise<Error> {
  // Another writer may have created it at the same moment; don't remove what doesn't match the request.
  if (canonicalComment(created.comment) !== "" && !sameComment(created.comment, inputs.comment)) {
    return failure(
      "It does not look like what was sent, so it was left alone. Look at it in the console, then run again.",
    );
  }
  try {
    const entryType = created.entry_type as EntryPlace["entryType"];
    await removeRow(created, { ...inputs, entryType, value: created.value }, () => true, tenant);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const outcome = `It could NOT be removed (${reason}). Remove it in the console, or run again: it is in the stack's state.`;
    return partialOf(created, inputs, failure(outcome));
  }
  return failure("That entry was removed again at once; nothing is left behind.");
}

function describeDeclared(inputs: AllowDenyEntryInputs): string {
  return `${printable(inputs.value)} on the ${inputs.list} list (scope ${quote(inputs.verdictScope)}, ${describeDetails(inputs)})`;
}
