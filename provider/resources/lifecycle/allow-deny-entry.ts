import { type AllowDenyEntryRow, NotFoundError } from "../../client";
import {
  type AllowDenyEntryInputs,
  allowDenyEntryQuery,
  checkAllowDenyEntry,
  completeAllowDenyEntry,
} from "../../model/arguments";
import { ENTRY_LISTS, type List } from "../../model/assumptions";
import { buildEntryDeclarationKey } from "../../model/encoded-list";
import {
  applyArguments,
  areSentFieldsEqual,
  buildCreateBody,
  ENTRY_FIELD_DEFINITIONS,
  pickDeclaredValues,
  pickValues,
} from "../../model/entry-fields";
import { omitUndefined } from "../../model/omit-undefined";
import { NO_OWN_DOMAINS } from "../../model/own-domains";
import { sanitizeLine } from "../../model/text";
import { UNKNOWN } from "../../model/unknown-value";
import { getRowNaturalKey, readConfirmed } from "../../tenant";
import { buildDeclarableEntry } from "./declarable";
import { logEntryDuplicates } from "./duplicate-rows";
import { enforcePlanForEntry, isPlanEnforced } from "./enforce-plan";
import { adoptRow, logAdoption, patchEntry } from "./entry-changes";
import { addConflict, assertNoConflict, describeConflict, describeReplacement } from "./entry-conflicts";
import { deleteEntry, resolveStateRow } from "./entry-deletion";
import { formatUniqueEntryName } from "./entry-name";
import { removeFormerScopeRows, removeFromOtherList } from "./entry-removal";
import {
  type AllowDenyEntryState,
  buildAllowDenyEntryState,
  buildEntryChange,
  buildEntryDeclaration,
  findDuplicateRows,
  getFailingConflict,
  getManagedId,
  getManagedRowId,
  getResourceId,
  isRowOfEntry,
  rowMatchesState,
} from "./entry-state";
import { ensureEntry, findManagedEntry, rowMatchesDeclaration } from "./entry-writes";
import { describeExistingEntry, NotImportableError } from "./errors";
import {
  buildFieldChanges,
  buildPropertyChange,
  buildSingleDeclaration,
  isDefined,
  type Lifecycle,
  type LifecycleContext,
} from "./lifecycle";
import { IMPORT_RISK_REASON, lookUpEntry } from "./look-up-entry";
import { isManagedRow } from "./row-ownership";

export const allowDenyEntryLifecycle: Lifecycle<AllowDenyEntryInputs, AllowDenyEntryState> = {
  check: (raw, _previous, getOwnDomains) => checkAllowDenyEntry(raw, getOwnDomains?.()),

  complete: completeAllowDenyEntry,

  declare: (inputs) => buildSingleDeclaration(buildEntryDeclaration(inputs, "value")),

  // A run that moves the entry to the other list resolves the conflict, or fails.
  warn: (state, { list }) =>
    state.conflict === undefined || (list !== state.list && ENTRY_LISTS.includes(list))
      ? []
      : [describeConflict(state, state.conflict)],

  diff(state, inputs) {
    return [
      ...buildFieldChanges(ENTRY_FIELD_DEFINITIONS, state, inputs),
      // A conflict is never declared, so it is always a change: each run of a deny checks whether it still exists.
      getFailingConflict(state) === undefined ? undefined : buildPropertyChange("conflict", state.conflict, undefined),
    ].filter(isDefined);
  },

  // If a program passes only an id to look up, the state may contain nothing else.
  getManagedIds: (id, state) =>
    state.value === undefined ? [] : [getManagedId({ ...state, id: state.entryId ?? id })],

  preview(inputs, before) {
    if (before !== undefined && isEntryUnchanged(before.state, inputs))
      return applyArguments(ENTRY_FIELD_DEFINITIONS, before.state, inputs);
    const { entryId, createdAt, createdBy }: Partial<Record<keyof AllowDenyEntryState, unknown>> = before?.state ?? {
      entryId: UNKNOWN,
      createdAt: UNKNOWN,
      createdBy: UNKNOWN,
    };
    return omitUndefined({
      ...pickValues(ENTRY_FIELD_DEFINITIONS, { ...inputs }),
      entryId,
      createdAt,
      createdBy,
    });
  },

  async create(inputs, context) {
    await findManagedEntry(inputs, context);
    if (isPlanEnforced(context)) await enforcePlanForEntry(inputs, inputs, context);
    await context.confirmTenant("entries");
    // Another resource of the same value may have just created it.
    const foundRows: AllowDenyEntryRow[] = [];
    const row = await ensureEntry(inputs, context, undefined, (foundRow) => foundRows.push(foundRow));
    if (foundRows.some((foundRow) => Object.keys(buildEntryChange(foundRow, inputs)).length === 0)) {
      logAdoption(row, inputs, context);
    }
    const id = getResourceId(row);
    const state = await addConflict(id, buildAllowDenyEntryState(id, row, inputs), context);
    if (state.conflict !== undefined) context.log(describeConflict(state, state.conflict));
    return { id, state };
  },

  async lookUp(importId, { tenant, getOwnDomains }) {
    const row = await lookUpEntry(importId, tenant);
    if (row === undefined) return undefined;
    const optionalOwnDomains = getOwnDomains?.() ?? NO_OWN_DOMAINS;
    const declared = buildDeclarableEntry(row, {
      ownDomains: optionalOwnDomains,
      acceptRisk: IMPORT_RISK_REASON,
    });
    if (!declared.ok) {
      throw new NotImportableError(
        `${describeExistingEntry(row)} can't be imported, because no program can declare it: ${sanitizeLine(declared.reason)}. It stays unchanged.`,
      );
    }
    const { scope: verdictScope, ...element } = declared.element;
    const inputs = omitUndefined({ list: row.list, verdictScope, ...element });
    const id = getResourceId(row);
    return { id, state: buildAllowDenyEntryState(id, row, completeAllowDenyEntry(inputs)), inputs };
  },

  querySchema: allowDenyEntryQuery,

  async list({ list }, { tenant, getOwnDomains, log }) {
    const rows = await tenant.readAllEntries(ENTRY_LISTS.filter((listName) => list === undefined || listName === list));
    const optionalOwnDomains = getOwnDomains?.() ?? NO_OWN_DOMAINS;
    const declared = rows.filter(
      (row) => buildDeclarableEntry(row, { ownDomains: optionalOwnDomains, acceptRisk: IMPORT_RISK_REASON }).ok,
    );
    const undeclarableCount = rows.length - declared.length;
    if (undeclarableCount > 0) {
      const [entries, detailsText] =
        undeclarableCount === 1
          ? ["1 entry", "it, with the reason"]
          : [`${undeclarableCount} entries`, "them, with the reasons"];
      log(`Left out: ${entries} that no program can declare. \`email-security export\` lists ${detailsText}.`);
    }
    const byValue = Map.groupBy(rows, getRowNaturalKey);
    return declared.map((row) => ({
      id: getResourceId(row),
      name: sanitizeLine(formatUniqueEntryName(row, byValue.get(getRowNaturalKey(row)) ?? [])),
    }));
  },

  async read(id, state, context) {
    const { tenant, confirmTenant, log } = context;
    const query = { ...state, id: state.entryId ?? id };
    // If a program passes a state with an id, the state may contain only the value.
    const matchesExpectedEntry = (item: AllowDenyEntryRow) =>
      state.list === undefined || rowMatchesState(item, id, state);
    const row = await tenant.findEntryConfirmed(query, { matchesState: matchesExpectedEntry });
    await confirmTenant("entries");
    if (row === undefined) return undefined;
    if (state.list !== undefined && row.id !== query.id) log(describeReplacement(state, query.id, row));
    const isOwnRow = (item: AllowDenyEntryRow) => item === row || !context.isManagedElsewhere(getManagedRowId(item));
    const duplicates = findDuplicateRows(row, await tenant.findEntriesByValue(query)).filter(isOwnRow);
    logEntryDuplicates([[row, duplicates]], context);
    const freshState = buildAllowDenyEntryState(id, row, state);
    const current = await addConflict(id, freshState, context, state.conflict);
    if (current.conflict !== undefined) log(describeConflict(current, current.conflict, state.list));
    return {
      id: getResourceId(row),
      state: current,
      inputs: pickDeclaredValues(ENTRY_FIELD_DEFINITIONS, { ...freshState }),
    };
  },

  async update(id, state, inputs, context) {
    if (isEntryUnchanged(state, inputs)) return applyArguments(ENTRY_FIELD_DEFINITIONS, state, inputs);
    const updatedState = await updateEntry(id, state, inputs, context);
    const resultState = await addConflict(id, updatedState, context, state.conflict);
    if (resultState.conflict !== undefined) context.log(describeConflict(resultState, resultState.conflict));
    return resultState;
  },

  delete: deleteEntry,
};

async function updateEntry(
  id: string,
  state: AllowDenyEntryState,
  inputs: AllowDenyEntryInputs,
  context: LifecycleContext,
): Promise<AllowDenyEntryState> {
  const { tenant } = context;
  const { verdictScope } = state;
  const change = buildEntryChange(buildCreateBody(ENTRY_FIELD_DEFINITIONS, { ...state }), inputs);
  const entryId = state.entryId ?? id;
  const query = { ...state, id: entryId };
  const matchesExpectedEntry = (row: AllowDenyEntryRow) => rowMatchesState(row, id, state);
  if (isPlanEnforced(context)) {
    await tenant.findEntryConfirmed(query, { matchesState: matchesExpectedEntry });
    await enforcePlanForEntry(query, inputs, context);
  }
  await context.confirmTenant("entries");
  // After a change by hand, the row is what another resource declares. It then belongs to that resource; otherwise, the
  // two would keep reverting each other.
  const isDeclaredElsewhere = change.verdict_scope !== undefined && context.isDeclared(buildEntryDeclarationKey(state));
  if (isDeclaredElsewhere) {
    return buildAllowDenyEntryState(id, await ensureEntry(inputs, context), inputs);
  }
  const isMove = change.list !== undefined;
  // Rows that a move leaves behind, or that an adopting deny finds, are removed afterwards.
  const isRemovingOthers = isMove || (inputs.adopt === true && inputs.list === "deny");
  const isRemovedRow = (row: AllowDenyEntryRow) => isRemovingOthers && isRowOfEntry(row, inputs);
  await assertNoConflict(inputs, context, (row) => row.id === entryId || isRemovedRow(row));
  // The declared list may already have the value, in another row than the one to move. Then the location of the own row
  // matters, and the lists may still show either row as before the last run.
  const findRowOnTargetList = async () =>
    isMove ? await findRowOnList(inputs.list, inputs, entryId, tenant) : undefined;
  const isListed = (await tenant.findEntry(query))?.id === entryId;
  if (isListed && (await findRowOnTargetList()) !== undefined)
    await tenant.findEntryConfirmed(query, { matchesState: matchesExpectedEntry });
  const targetRow = await readConfirmed(
    tenant,
    "entries",
    findRowOnTargetList,
    (row) => row !== undefined && rowMatchesDeclaration(row, inputs),
  );
  const current = await tenant.findEntry(query);
  const ownRow = resolveStateRow(current, state, entryId, tenant);
  const removeOthers = async () => {
    if (isRemovingOthers)
      await removeFromOtherList({ ...inputs, formerScope: verdictScope, named: ownRow }, context, () => true);
    // Another resource may leave the program without its allow being deleted.
    else if (inputs.list === "deny")
      await removeFromOtherList(inputs, context, (other) => isManagedRow(other, inputs, context));
    if (change.verdict_scope !== undefined && !isMove) await removeFormerScopeRows(state, context);
  };
  // A row that no list shows is requested by its id anyway.
  const requestedFields = current?.id === entryId ? {} : { list: inputs.list };
  for (const row of ownRow === undefined ? [] : [targetRow, ownRow].filter(isDefined)) {
    const difference = buildEntryChange(row, inputs);
    const changeBody = row === targetRow ? difference : { ...change, ...difference, ...requestedFields };
    try {
      const resultState =
        Object.keys(changeBody).length === 0 ? row : await patchEntry(tenant, row.id, changeBody, inputs);
      // Somebody created this row. The resource's own one is removed.
      if (row === targetRow) logAdoption(row, inputs, context);
      await removeOthers();
      return buildAllowDenyEntryState(id, resultState, inputs);
    } catch (error) {
      // The row is gone, and no longer listed.
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
  // The row is gone. If somebody recreated it by hand, it belongs to this resource; otherwise, it is recreated because
  // it is declared.
  const remainingRow = await readConfirmed(
    tenant,
    "entries",
    () => tenant.findEntry(query),
    (row) => row !== undefined && rowMatchesDeclaration(row, inputs),
  );
  if (remainingRow !== undefined) {
    try {
      const row = await adoptRow(remainingRow, inputs, context);
      if (remainingRow.id !== entryId) context.log(describeReplacement(state, entryId, remainingRow));
      await removeOthers();
      return buildAllowDenyEntryState(id, row, inputs);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
  return buildAllowDenyEntryState(id, await ensureEntry(inputs, context), inputs);
}

/**
 * Returns another row with the entry's value, type and scope on a list. If the service doesn't report the scope, the row
 * counts as having the entry's scope.
 */
async function findRowOnList(
  list: List,
  entry: Pick<AllowDenyEntryInputs, "value" | "entryType" | "verdictScope">,
  excludedId: string,
  tenant: LifecycleContext["tenant"],
): Promise<AllowDenyEntryRow | undefined> {
  const rows = await tenant.findEntriesByValue({ ...entry, list });
  return rows.find((row) => row.list === list && row.id !== excludedId && isRowOfEntry(row, entry));
}

/** Returns whether the arguments need no request, given the state. Unknown arguments count as changes. */
function isEntryUnchanged(state: AllowDenyEntryState, inputs: AllowDenyEntryInputs): boolean {
  return (
    getFailingConflict(state) === undefined && areSentFieldsEqual(ENTRY_FIELD_DEFINITIONS, { ...state }, { ...inputs })
  );
}
