import {
  type AllowDenyEntryRow,
  ConflictError,
  EmailSecurityError,
  type EntryChange,
  NotFoundError,
  ServiceError,
} from "../../client";
import { type AllowDenyEntryInputs, checkAllowDenyEntry } from "../../settings/arguments";
import { DEFAULT_VERDICT_SCOPE, type EntryType, type List } from "../../settings/assumptions";
import { canonicalValue, entryKey, naturalKey } from "../../settings/entry-value";
import { canonicalComment, quote } from "../../settings/text";
import { UNKNOWN } from "../../settings/unknown";
import type { CreatedEntry, EntryQuery, Tenant } from "../../tenant";
import { AlreadyExistsError, describeEntry, MovedError, NotAppliedError, WrongListError } from "./errors";
import { type Context, changeOf, isDefined, type Lifecycle, PartialFailure } from "./lifecycle";

/** What the state holds of an entry: every argument as it stands, and what the service added. */
export interface AllowDenyEntryState {
  readonly list: List;
  readonly value: string;
  readonly entryType: EntryType;
  readonly verdictScope: string;
  readonly comment?: string;
  /** The service's id. The resource's own id can't change in an update, this one can. */
  readonly entryId: string;
  readonly createdAt?: string;
  readonly createdBy?: string;
}

/** One entry of the allow/deny list (reference, section "Allow/deny list"). */
export const allowDenyEntry: Lifecycle<AllowDenyEntryInputs, AllowDenyEntryState> = {
  check: checkAllowDenyEntry,

  key: entryKey,

  diff(state, inputs) {
    return [
      changeOf("value", comparableValue(state.value), comparableValue(inputs.value), true),
      changeOf("entryType", state.entryType, inputs.entryType, true),
      changeOf("list", state.list, inputs.list),
      changeOf("verdictScope", state.verdictScope, inputs.verdictScope),
      changeOf("comment", comparableComment(state.comment), comparableComment(inputs.comment)),
    ].filter(isDefined);
  },

  async create(inputs, context) {
    const row = await ensure(inputs, context, inputs.adopt ?? false);
    return { id: row.id, state: stateOf(row, inputs) };
  },

  async read(id, state, { tenant }) {
    const query = { ...state, id: state.entryId ?? id };
    // A reading that spans pages may miss a row that another writer's deletion shifted; gone is what two readings miss.
    const row = (await tenant.findEntry(query)) ?? (await tenant.findEntryAnew(query));
    if (row === undefined) return undefined;
    const fresh = stateOf(row, state);
    const { list, value, entryType, verdictScope, comment } = fresh;
    const inputs = { list, value, entryType, verdictScope, ...(comment === undefined ? {} : { comment }) };
    return { id: row.id, state: fresh, inputs };
  },

  async update(id, state, inputs, context) {
    const change = changeBetween(state, inputs);
    const entryId = state.entryId ?? id;
    if (Object.keys(change).length === 0) return { ...state, value: inputs.value };
    try {
      return stateOf(await patch(context.tenant, entryId, change, inputs), inputs);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // Gone: it is declared, so it is made again. One that was recreated by hand is this resource's all the same.
      return stateOf(await ensure(inputs, context, true), inputs);
    }
  },

  async delete(id, state, { tenant, say, isDeclared }) {
    const what = `${state.value} on the ${state.list} list`;
    const entryId = state.entryId ?? id;
    const query = { ...state, id: entryId };
    const found = await tenant.findEntry(query);
    const row = found?.id === entryId ? found : undefined;
    if (row !== undefined && isDeclared(keyOf(row))) {
      say(`${what} stays: the program declares ${describeEntry(row)} under another name.`);
      return;
    }
    if (row !== undefined && row.list !== state.list) {
      throw new MovedError(
        `The entry to delete, ${what}, was moved in the meantime: there is ${describeEntry(row)}. Deleting it is not what was shown, so nothing was deleted. Run \`pulumi refresh\` to see it, then run again.`,
      );
    }
    if (await tenant.deleteEntry(entryId)) return;
    const other = await tenant.findEntryAnew(query);
    if (other === undefined || isDeclared(keyOf(other))) return;
    if (other.id === entryId) {
      throw new NotAppliedError(
        `The service was asked to delete ${describeEntry(other)}, and still has it. Run again; if it stays, look at it in the console.`,
      );
    }
    say(`${what} was gone already; ${describeEntry(other)} was made in its place and is left alone.`);
  },
};

/**
 * Makes the service hold the entry as declared: observes, adds or takes over, and compares every answer with what was
 * asked.
 */
async function ensure(
  inputs: AllowDenyEntryInputs,
  context: Context,
  takeOver: boolean,
): Promise<AllowDenyEntryRow> {
  const { tenant } = context;
  const existing = await tenant.findEntry(inputs);
  if (existing !== undefined && !mayStandBeside(existing, inputs, context, takeOver)) {
    return await adopt(existing, inputs, context, takeOver);
  }
  let created: CreatedEntry;
  try {
    created = await tenant.createEntry({
      list: inputs.list,
      entry_type: inputs.entryType,
      value: inputs.value,
      verdict_scope: inputs.verdictScope,
      ...(inputs.comment === undefined ? {} : { comment: inputs.comment }),
    });
  } catch (error) {
    const found = await foundAfter(error, inputs, tenant);
    if (found === undefined) throw error;
    return await adopt(found, inputs, context, takeOver);
  }
  // A service that answers success with an entry that stood there before has created nothing that could be undone.
  if (!created.isNew) return await adopt(created.row, inputs, context, takeOver);
  return await settle(created.row, inputs, tenant);
}

/**
 * A service may hold one value on a list once per scope. So an entry of another scope is no obstacle, unless it is the
 * one that is to be taken over; whether both may stand is the service's to say.
 */
function mayStandBeside(
  existing: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: Context,
  takeOver: boolean,
): boolean {
  const otherScope =
    existing.list === inputs.list && (existing.verdict_scope ?? inputs.verdictScope) !== inputs.verdictScope;
  return otherScope && (!takeOver || context.isDeclared(keyOf(existing)));
}

/** After a conflict, or a failure that leaves the outcome unknown, what the service holds decides. */
async function foundAfter(
  error: unknown,
  query: EntryQuery,
  tenant: Tenant,
): Promise<AllowDenyEntryRow | undefined> {
  const mayExist = error instanceof ConflictError || (error instanceof ServiceError && error.outcomeUnknown);
  if (!mayExist) return undefined;
  try {
    return await tenant.findEntryAnew(query);
  } catch {
    // The first failure is the one to tell.
    return undefined;
  }
}

/** Takes an entry that exists for the declared one: when it is the same, or when the user said so. */
async function adopt(
  existing: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: Context,
  takeOver: boolean,
): Promise<AllowDenyEntryRow> {
  if (naturalKey(existing.entry_type, existing.value) !== naturalKey(inputs.entryType, inputs.value)) {
    throw new NotAppliedError(
      `The service was asked to create ${quote(inputs.value)} and answered with ${describeEntry(existing)}, which stood there before. Nothing was changed.`,
    );
  }
  const change = differenceOf(existing, inputs);
  if (Object.keys(change).length === 0) return existing;
  if (!takeOver) {
    throw new AlreadyExistsError(
      `The entry ${quote(inputs.value)} can't be created on the ${inputs.list} list: there is ${describeEntry(existing)} already, and it differs in ${Object.keys(change).join(", ")}. ` +
        "Nothing was changed. Either say `adopt: true` to take it over and change it to what is declared, or declare it as it stands (or remove it in the console) and run again.",
    );
  }
  if (keyOf(existing) !== entryKey(inputs) && context.isDeclared(keyOf(existing))) {
    throw new AlreadyExistsError(
      `The entry ${quote(inputs.value)} can't be taken over for the ${inputs.list} list: the program declares ${describeEntry(existing)} too. Nothing was changed. Keep one of the two declarations.`,
    );
  }
  return await patch(context.tenant, existing.id, change, inputs);
}

/** Compares the answer of a create with what was asked: undoes what is wrong for good, mends what can be mended. */
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
    throw new PartialFailure(created.id, stateOf(created, inputs), error);
  }
}

/** Removes at once what the service made wrong. What can't be removed goes into state, so that it is not forgotten. */
async function undo(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
  failure: (outcome: string) => EmailSecurityError,
): Promise<Error> {
  try {
    await tenant.deleteEntry(created.id);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const outcome = `It could NOT be removed (${reason}). Remove it in the console, or run again: it is in the stack's state.`;
    return new PartialFailure(created.id, stateOf(created, inputs), failure(outcome));
  }
  return failure("That entry was removed again at once; nothing is left behind.");
}

/** Changes an entry in place and compares the answer with what was asked. */
async function patch(
  tenant: Tenant,
  id: string,
  change: EntryChange,
  inputs: AllowDenyEntryInputs,
): Promise<AllowDenyEntryRow> {
  let row: AllowDenyEntryRow;
  try {
    row = await tenant.updateEntry(id, change);
  } catch (error) {
    if (error instanceof ConflictError) throw await collision(error, id, inputs, tenant);
    throw error;
  }
  const missed = Object.keys(differenceOf(row, inputs)).filter((field) => field in change);
  if (missed.length > 0) {
    throw new NotAppliedError(
      `The service answered success to the change of ${Object.keys(change).join(", ")} of ${quote(inputs.value)}, but ${missed.join(", ")} is not as asked: there is ${describeEntry(row)}. Run \`pulumi refresh\`, look at it in the console, and run again.`,
    );
  }
  return row;
}

async function collision(
  conflict: ConflictError,
  id: string,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
): Promise<Error> {
  const other = await tenant.findEntryAnew(inputs).catch(() => undefined);
  if (other === undefined || other.id === id) return conflict;
  return new AlreadyExistsError(
    `The entry ${quote(inputs.value)} can't become what is declared: it collides with ${describeEntry(other)}. Nothing was changed. Remove one of the two in the console, then run \`pulumi refresh\` and run again.`,
    { cause: conflict },
  );
}

/** The mutable fields in which what the service holds differs from what is declared. */
function differenceOf(row: AllowDenyEntryRow, inputs: AllowDenyEntryInputs): EntryChange {
  return {
    ...(row.list === inputs.list ? {} : { list: inputs.list }),
    // A service that does not tell the scope can't be compared with.
    ...((row.verdict_scope ?? inputs.verdictScope) === inputs.verdictScope
      ? {}
      : { verdict_scope: inputs.verdictScope }),
    ...(canonicalComment(row.comment) === canonicalComment(inputs.comment)
      ? {}
      : { comment: inputs.comment ?? "" }),
  };
}

/** Exactly the fields in which the declaration differs from the state. */
function changeBetween(state: AllowDenyEntryState, inputs: AllowDenyEntryInputs): EntryChange {
  return {
    ...(state.list === inputs.list ? {} : { list: inputs.list }),
    ...(state.verdictScope === inputs.verdictScope ? {} : { verdict_scope: inputs.verdictScope }),
    ...(canonicalComment(state.comment) === canonicalComment(inputs.comment)
      ? {}
      : { comment: inputs.comment ?? "" }),
  };
}

/** The state of an entry; its value, and a comment in another form, as written rather than as echoed. */
function stateOf(
  row: AllowDenyEntryRow,
  written: {
    readonly value: string;
    readonly entryType: EntryType;
    readonly verdictScope?: string;
    readonly comment?: string;
  },
): AllowDenyEntryState {
  const sameValue = canonicalValue(row.value) === canonicalValue(written.value);
  const sameComment = canonicalComment(row.comment) === canonicalComment(written.comment);
  const comment = sameComment ? written.comment : row.comment;
  return {
    list: row.list as List,
    value: sameValue ? written.value : row.value,
    entryType: row.entry_type as EntryType,
    verdictScope: row.verdict_scope ?? written.verdictScope ?? DEFAULT_VERDICT_SCOPE,
    ...(canonicalComment(comment) === "" ? {} : { comment: comment ?? "" }),
    entryId: row.id,
    ...(row.created_at === undefined ? {} : { createdAt: row.created_at }),
    ...(row.created_by === undefined ? {} : { createdBy: row.created_by }),
  };
}

function keyOf(row: AllowDenyEntryRow): string {
  return entryKey({
    list: row.list,
    entryType: row.entry_type,
    value: row.value,
    verdictScope: row.verdict_scope ?? DEFAULT_VERDICT_SCOPE,
  });
}

function comparableValue(value: unknown): unknown {
  return typeof value === "string" ? canonicalValue(value) : value;
}

function comparableComment(comment: unknown): unknown {
  if (comment === UNKNOWN) return comment;
  return canonicalComment(typeof comment === "string" ? comment : undefined) || undefined;
}
