import { type AllowDenyEntryRow, NotFoundError } from "../../client";
import {
  type AllowDenyEntryInputs,
  allowDenyEntryQuery,
  checkAllowDenyEntry,
  completeAllowDenyEntry,
} from "../../settings/arguments";
import { LISTS, type List } from "../../settings/assumptions";
import {
  createBody,
  declaredValues,
  ENTRY_FIELDS,
  isSentAlike,
  valuesOf,
  withArguments,
} from "../../settings/entry-fields";
import { naturalKey } from "../../settings/entry-value";
import { entryKey } from "../../settings/keyed-list";
import { NO_OWN_DOMAINS } from "../../settings/own-domains";
import { printable } from "../../settings/text";
import { UNKNOWN } from "../../settings/unknown";
import { withoutUndefined } from "../../settings/without-undefined";
import { isAbout, keyOfValue } from "../../tenant";
import { declarableEntry } from "./declarable";
import { patch, takeOver } from "./entry-changes";
import { assertNoConflict, conflictingRow, describeConflict } from "./entry-conflicts";
import { nameOfEntry } from "./entry-name";
import { clearOtherList, removeRow, removeRows, sayLeftRows } from "./entry-removal";
import {
  type AllowDenyEntryState,
  declaredEntry,
  differenceOf,
  duplicatesOf,
  heldAs,
  holdKeyOf,
  isAsInState,
  isOfScope,
  keyOf,
  resourceId,
  stateOf,
} from "./entry-state";
import { ensureEntry, findManagedEntry } from "./entry-writes";
import { describeEntry, MovedError, NotImportableError } from "./errors";
import { holdEntryToPlan, isHeld } from "./held-to-plan";
import { type Context, changeOf, declarationOf, fieldChanges, isDefined, type Lifecycle } from "./lifecycle";
import { IMPORTED_RISK, lookUpEntry } from "./look-up";

/** One entry of the allow/deny list (reference, section "Allow/deny list"). */
export const allowDenyEntry: Lifecycle<AllowDenyEntryInputs, AllowDenyEntryState> = {
  check: (raw, _previous, ownDomains) => checkAllowDenyEntry(raw, ownDomains?.()),

  complete: completeAllowDenyEntry,

  declare: (inputs) => declarationOf(declaredEntry(inputs, "value")),

  warn: (state) => (state.conflict === undefined ? [] : [describeConflict(state, state.conflict)]),

  diff(state, inputs) {
    return [
      ...fieldChanges(ENTRY_FIELDS, state, inputs),
      // Nobody declares a conflict. Each run of a deny checks whether it still exists.
      failingConflict(state) === undefined ? undefined : changeOf("conflict", state.conflict, undefined),
    ].filter(isDefined);
  },

  // A state that a program gives with an id to look up may hold nothing else.
  ids: (id, state) => (state.value === undefined ? [] : [heldAs({ ...state, id: state.entryId ?? id })]),

  foresee(inputs, before) {
    if (before !== undefined && isUntouched(before.state, inputs))
      return withArguments(ENTRY_FIELDS, before.state, inputs);
    const { entryId, createdAt, createdBy }: Partial<Record<keyof AllowDenyEntryState, unknown>> =
      before?.state ?? { entryId: UNKNOWN, createdAt: UNKNOWN, createdBy: UNKNOWN };
    return withoutUndefined({
      ...valuesOf(ENTRY_FIELDS, { ...inputs }),
      entryId,
      createdAt,
      createdBy,
    });
  },

  async create(inputs, context) {
    if (isHeld(context)) await holdEntryToPlan(inputs, inputs, context);
    const before = await findManagedEntry(inputs, context);
    await context.confirmTenant("entries");
    const row = await ensureEntry(inputs, context);
    if (before?.id === row.id && Object.keys(differenceOf(before, inputs)).length === 0) {
      context.say(`Took over ${describeEntry(row)}, which is as declared: deleting the resource deletes it.`);
    }
    const id = resourceId(row);
    return { id, state: await withConflict(id, stateOf(id, row, inputs), context) };
  },

  async lookUp(given, { tenant, ownDomains }) {
    const row = await lookUpEntry(given, tenant);
    if (row === undefined) return undefined;
    const own = ownDomains?.() ?? NO_OWN_DOMAINS;
    const declared = declarableEntry(row, { own, acceptRisk: IMPORTED_RISK });
    if (!declared.ok) {
      throw new NotImportableError(
        `${describeEntry(row)} can't be imported, for no program can declare it: ${printable(declared.reason)}. It stays as it is.`,
      );
    }
    const { scope: verdictScope, ...element } = declared.element;
    const inputs = withoutUndefined({ list: row.list, verdictScope, ...element });
    const id = resourceId(row);
    return { id, state: stateOf(id, row, completeAllowDenyEntry(inputs)), inputs };
  },

  query: allowDenyEntryQuery,

  async list({ list }, { tenant, ownDomains, say }) {
    const rows = await tenant.allEntries(LISTS.filter((one) => list === undefined || one === list));
    const own = ownDomains?.() ?? NO_OWN_DOMAINS;
    const declared = rows.filter((row) => declarableEntry(row, { own, acceptRisk: IMPORTED_RISK }).ok);
    const left = rows.length - declared.length;
    if (left > 0) {
      const entries = left === 1 ? "1 entry" : `${left} entries`;
      say(
        `Left out: ${entries} that no program can declare. \`email-security export\` tells which, and why.`,
      );
    }
    const byValue = Map.groupBy(rows, keyOfValue);
    return declared.map((row) => ({
      id: resourceId(row),
      name: printable(nameOfEntry(row, byValue.get(keyOfValue(row)) ?? [])),
    }));
  },

  async read(id, state, context) {
    const { tenant, confirmTenant, say } = context;
    const query = { ...state, id: state.entryId ?? id };
    // A state that a program gives with an id may hold only the value.
    const isSettled = (one: AllowDenyEntryRow) => state.list === undefined || isAsInState(one, id, state);
    const row = await tenant.findEntrySurely(query, { isAsInState: isSettled });
    await confirmTenant("entries");
    if (row === undefined) return undefined;
    const fresh = stateOf(id, row, state);
    let found = await withConflict(id, fresh, context);
    // A lagging list may still show what the last run removed.
    while (found.conflict !== undefined && state.conflict === undefined) {
      if (!(await tenant.readLater("entries"))) break;
      found = await withConflict(id, fresh, context);
    }
    if (found.conflict !== undefined) say(describeConflict(found, found.conflict));
    return { id: resourceId(row), state: found, inputs: declaredValues(ENTRY_FIELDS, { ...fresh }) };
  },

  async update(id, state, inputs, context) {
    if (isUntouched(state, inputs)) return withArguments(ENTRY_FIELDS, state, inputs);
    const done = await withConflict(id, await applyChange(id, state, inputs, context), context);
    if (done.conflict !== undefined) context.say(describeConflict(done, done.conflict));
    return done;
  },

  async delete(id, state, context) {
    const { tenant, say, isDeclared, isHeldElsewhere } = context;
    const what = `${state.value} on the ${state.list} list`;
    const entryId = state.entryId ?? id;
    const query = { ...state, id: entryId };
    let found = await tenant.findEntry(query);
    if (found?.id === entryId && found.list !== state.list) {
      // The lists may still show it as it was before the last run.
      const isAsInState = ({ id, list }: AllowDenyEntryRow) => id === entryId && list === state.list;
      found = (await tenant.entriesOfValueSurely(query, isAsInState)).find(isAsInState) ?? found;
    }
    const row = namedRow(found, state, entryId, tenant);
    if (row !== undefined && isDeclared(keyOf(row, state))) {
      say(
        row.list === state.list
          ? `${what} stays: the program declares it.`
          : `${state.value} is on the ${printable(row.list)} list now, where the program declares it.`,
      );
      return;
    }
    if (isHeldElsewhere(heldAs(query))) {
      say(
        `${what} stays: another Provider of the program manages it, by another key or address of this tenant.`,
      );
      return;
    }
    await context.confirmTenant("entries", { removes: true });
    if (row !== undefined && row.list !== state.list) {
      throw new MovedError(
        `The entry to delete, ${what}, was moved in the meantime: there is ${describeEntry(row)}. Deleting it is not what was shown, so nothing was deleted. A refresh shows it; then run again.`,
      );
    }
    if (isHeld(context)) await holdEntryToPlan({ ...state, id: entryId }, undefined, context);
    if (tenant.hasDeleted(entryId)) {
      say(removedAsDuplicate(what));
      return;
    }
    const isOwn = (one: AllowDenyEntryRow) => !isHeldElsewhere(holdKeyOf(one));
    const rows = await tenant.entriesOfValue(query);
    const isStill = (now: AllowDenyEntryRow) => isAbout(now, naturalKey(state.entryType, state.value));
    const isDeleted = row !== undefined && (await removeRow(row, state, isStill, tenant)) === "deleted";
    // If its own row was neither listed nor deleted, another one was created since.
    const duplicates =
      row !== undefined && (isDeleted || found?.id === entryId)
        ? duplicatesOf(row, rows).filter((one) => one.id !== row.id && isOwn(one))
        : [];
    await removeRows(duplicates, state, tenant);
    const removed = new Set([entryId, ...duplicates.map((one) => one.id)]);
    if (isDeleted) {
      sayLeftRows(state, rows, { ...context, isLeft: (one) => !removed.has(one.id) && isOwn(one) });
      if (duplicates.length > 0)
        say(`${what} was there ${duplicates.length + 1} times; all of them are removed.`);
      return;
    }
    const isDuplicate = tenant.hasDeleted(entryId);
    const other = found?.id === entryId ? await tenant.findEntryAnew(query) : found;
    if (other === undefined || removed.has(other.id)) {
      sayLeftRows(state, rows, {
        ...context,
        isLeft: (one) => !removed.has(one.id) && one.list !== state.list && isOwn(one),
      });
      say(
        isDuplicate
          ? removedAsDuplicate(what)
          : `${what} was gone already: nothing was deleted at ${tenant.baseUrl}. If that surprises you, check that the API key is the right tenant's.`,
      );
      return;
    }
    if (isDeclared(keyOf(other, state))) return;
    // It's impossible to tell which of several rows existed before and which were created since.
    const all = (await tenant.entriesOfValue(query)).filter(
      (one) => isOwn(one) && !isDeclared(keyOf(one, state)),
    );
    say(
      all.length > 1
        ? `${what} was gone already; ${all.map(describeEntry).join(" | ")} are at the tenant, and are left alone.`
        : `${what} was gone already; ${describeEntry(other)} was made in its place and is left alone.`,
    );
  },
};

/** Updates an entry to what is declared. */
async function applyChange(
  id: string,
  state: AllowDenyEntryState,
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryState> {
  const { tenant } = context;
  const { verdictScope } = state;
  const change = differenceOf(createBody(ENTRY_FIELDS, { ...state }), inputs);
  const entryId = state.entryId ?? id;
  const query = { ...state, id: entryId };
  const isSettled = (row: AllowDenyEntryRow) => isAsInState(row, id, state);
  if (isHeld(context)) {
    await tenant.findEntrySurely(query, { isAsInState: isSettled });
    await holdEntryToPlan(query, inputs, context);
  }
  // A colleague may have changed it to what another resource declares. It then belongs to that resource; otherwise each would
  // revert the other.
  const isOthers = change.verdict_scope !== undefined && context.isDeclared(entryKey(state));
  await context.confirmTenant("entries");
  if (isOthers) {
    return stateOf(id, await ensureEntry(inputs, context), inputs);
  }
  const isMove = change.list !== undefined;
  // Leftovers of a move, or of an adoption, are removed afterwards.
  const isClearing = isMove || inputs.adopt === true;
  const isCleared = (row: AllowDenyEntryRow) => isClearing && isOfScope(row, inputs);
  await assertNoConflict(inputs, context, (row) => row.id === entryId || isCleared(row));
  let found = await tenant.findEntry(query);
  // The declared list may already have the value in another row. The lists may still show that row as it was before the last
  // run.
  const findOther = async () => (isMove ? await rowOn(inputs.list, inputs, entryId, tenant) : undefined);
  let there = await findOther();
  if (there !== undefined && found?.id === entryId) {
    found = await tenant.findEntrySurely(query, { isAsInState: isSettled });
    there = await findOther();
  }
  let named = namedRow(found, state, entryId, tenant);
  const clear = async () => {
    if (isClearing)
      await clearOtherList({ ...inputs, formerScope: verdictScope, named }, context, () => true);
  };
  let other = found;
  if (named !== undefined) {
    try {
      const row = there ?? named;
      const difference = differenceOf(row, inputs);
      // An entry that no list shows is still requested by its id.
      const asked = found?.id === entryId ? {} : { list: inputs.list };
      const sent = there === undefined ? { ...change, ...difference, ...asked } : difference;
      const done = Object.keys(sent).length === 0 ? row : await patch(tenant, row.id, sent, inputs);
      await clear();
      return stateOf(id, done, inputs);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    if (found?.id === entryId) other = await tenant.findEntry(query);
    named = undefined;
  }
  // The entry is gone. An entry recreated by hand belongs to this resource; otherwise it is created again.
  if (other === undefined) return stateOf(id, await ensureEntry(inputs, context), inputs);
  const row = await takeOver(other, inputs, context);
  await clear();
  return stateOf(id, row, inputs);
}

/**
 * Returns the row that a state names by its id. If no list shows that id, assumes that it is as in the state: the lists may
 * lag, and the service resolves the id. Undefined if the id is known to belong to something else.
 *
 * @param found the entry's row in the snapshot.
 */
function namedRow(
  found: AllowDenyEntryRow | undefined,
  state: AllowDenyEntryState,
  id: string,
  tenant: Context["tenant"],
): AllowDenyEntryRow | undefined {
  if (found?.id === id) return found;
  if (tenant.knownEntry(id) !== undefined) return undefined;
  const { list, value, entryType, verdictScope, comment, createdAt, createdBy } = state;
  return {
    id,
    list,
    value,
    entry_type: entryType,
    verdict_scope: verdictScope,
    comment,
    created_at: createdAt,
    created_by: createdBy,
  };
}

/** Returns a state with the entry's conflict, if there is one. */
async function withConflict(
  id: string,
  state: AllowDenyEntryState,
  context: Context,
): Promise<AllowDenyEntryState> {
  const isOwn = (row: AllowDenyEntryRow) => row.id === (state.entryId ?? id);
  const row = await conflictingRow(state, context, isOwn);
  return row === undefined ? state : { ...state, conflict: describeEntry(row) };
}

function removedAsDuplicate(what: string): string {
  return `${what} is removed: this run removed it with another entry of the same value.`;
}

/** Returns the conflict that makes a deny fail, according to its state. */
function failingConflict({ list, conflict }: AllowDenyEntryState): string | undefined {
  return list === "deny" ? conflict : undefined;
}

/** Finds another row of the entry's value and scope on a list. A row without a scope matches any. */
async function rowOn(
  list: List,
  entry: Pick<AllowDenyEntryInputs, "value" | "entryType" | "verdictScope">,
  ownId: string,
  tenant: Context["tenant"],
): Promise<AllowDenyEntryRow | undefined> {
  const rows = await tenant.entriesOfValue({ ...entry, list });
  return rows.find((row) => row.list === list && row.id !== ownId && isOfScope(row, entry));
}

/** Whether arguments require no request, according to the state. Unknown values count as different. */
function isUntouched(state: AllowDenyEntryState, inputs: AllowDenyEntryInputs): boolean {
  return failingConflict(state) === undefined && isSentAlike(ENTRY_FIELDS, { ...state }, { ...inputs });
}
