import type { AllowDenyEntryRow } from "../../client";
import { ENTRY_LISTS } from "../../model/assumptions";
import { isContradiction } from "../../model/contradiction";
import { excerpt, quote, sanitizeLine } from "../../model/text";
import { readConfirmed } from "../../tenant";
import { type AllowDenyEntryState, type EntryIdentity, hasScope } from "./entry-state";
import { AlreadyExistsError, describeExistingEntry } from "./errors";
import { isDefined, type LifecycleContext } from "./lifecycle";
import { isLeavingRow, isUnclaimed } from "./row-ownership";

/**
 * Finds the row on the other list that conflicts with an entry of the same value, if nobody declares it and it isn't about
 * to leave ({@link isContradiction}). The reference (section "Allow/deny list") doesn't say which of the two takes
 * precedence.
 *
 * @param isIgnored see `ensureEntry`.
 */
export async function findConflictingRow(
  entry: EntryIdentity,
  context: LifecycleContext,
  isIgnored: (row: AllowDenyEntryRow) => boolean = () => false,
): Promise<AllowDenyEntryRow | undefined> {
  const rows = await context.tenant.findEntriesByValue(entry);
  return rows.find(
    (row) =>
      ENTRY_LISTS.some((list) => list === row.list) &&
      isContradiction({ ...row, verdictScope: row.verdict_scope ?? entry.verdictScope }, entry) &&
      isUnclaimed(row, entry, context) &&
      !isLeavingRow(row, entry, context) &&
      !isIgnored(row),
  );
}

export async function findConflictingAllow(
  entry: EntryIdentity,
  context: LifecycleContext,
  isIgnored?: (row: AllowDenyEntryRow) => boolean,
): Promise<AllowDenyEntryRow | undefined> {
  return entry.list === "deny" ? await findConflictingRow(entry, context, isIgnored) : undefined;
}

/**
 * Prevents reporting a deny as done next to an allow.
 *
 * @param isIgnored see `ensureEntry`.
 * @throws {AlreadyExistsError} that names the allow.
 */
export async function assertNoConflict(
  entry: EntryIdentity,
  context: LifecycleContext,
  isIgnored?: (row: AllowDenyEntryRow) => boolean,
): Promise<void> {
  // The lists may still show an allow that an earlier run removed.
  const allowRow = await readConfirmed(
    context.tenant,
    "entries",
    () => findConflictingAllow(entry, context, isIgnored),
    isDefined,
  );
  if (allowRow !== undefined) throw buildConflictError(entry, allowRow);
}

/**
 * Adds the conflict of an entry to its state, if there is one.
 *
 * @param knownConflict the conflict as of the last run. A new one may be a row that an earlier run removed, and the
 * lists still show.
 */
export async function addConflict(
  id: string,
  state: AllowDenyEntryState,
  context: LifecycleContext,
  knownConflict?: string,
): Promise<AllowDenyEntryState> {
  const isManagedHere = (row: AllowDenyEntryRow) => row.id === (state.entryId ?? id);
  const row = await readConfirmed(
    context.tenant,
    "entries",
    () => findConflictingRow(state, context, isManagedHere),
    (conflictingRow) => conflictingRow !== undefined && knownConflict === undefined,
  );
  return row === undefined ? state : { ...state, conflict: describeExistingEntry(row) };
}

export function buildConflictError(entry: EntryIdentity, allowRow: AllowDenyEntryRow): AlreadyExistsError {
  return new AlreadyExistsError(
    `${sanitizeLine(entry.value)} can't be denied in the scope ${quote(entry.verdictScope)}: the tenant allows it${hasScope(allowRow, entry) ? " too" : " in another"}, and the service's reference doesn't define which of the two takes precedence. The allow is ${describeExistingEntry(allowRow)}. Nothing was changed. Remove that allow in the console, or don't declare the deny. If this stack declared the allow until now, refresh the stack first; if another Provider of the program did, declare the deny in the run after the one that deletes the allow.`,
  );
}

/**
 * Describes the conflict of an entry, from its state.
 *
 * @param conflict the `conflict` of {@link AllowDenyEntryState}.
 * @param declaredList the list where the entry was declared last, if it is on another list now.
 */
export function describeConflict({ list, value }: EntryIdentity, conflict: string, declaredList = list): string {
  const subject = `${sanitizeLine(value)} is on the ${list} list, and the tenant also has it on the other list: ${conflict}, which this program doesn't declare. The service's reference doesn't define which of the two takes precedence`;
  if (declaredList !== list)
    return `${subject}. The stack declared it for the ${declaredList} list: an \`up\` that still declares it there moves it back.`;
  return list === "deny"
    ? `${subject}, so mail from it may get through. A run that declares the deny fails until the other one is removed: remove it in the console, or set \`adopt: true\` if both have the same scope and type.`
    : `${subject}, so mail from it may be blocked. Remove the deny in the console, or don't declare the allow.`;
}

/**
 * Describes a row that somebody created after the row in the state was deleted. An entry is identified by its value, so
 * that row is the entry now.
 *
 * @param formerId the id of the row that the state names.
 */
export function describeReplacement({ list, value }: EntryIdentity, formerId: string, row: AllowDenyEntryRow): string {
  return `${sanitizeLine(value)} on the ${list} list (id ${excerpt(formerId)}) was deleted, and the tenant now has the value in another row: ${describeExistingEntry(row)}. This resource now manages that row, and removing the resource deletes it.`;
}
