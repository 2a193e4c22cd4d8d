import type { AllowDenyEntryRow, EntryChange } from "../../client";
import type { AllowDenyEntryInputs } from "../../model/arguments";
import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICT_SCOPES } from "../../model/assumptions";
import { buildEntryDeclarationKey, encodeEntryKey } from "../../model/encoded-list";
import {
  areSentFieldsEqual,
  buildChangeBody,
  ENTRY_FIELD_DEFINITIONS,
  pickRowValues,
  pickUnsentValues,
} from "../../model/entry-fields";
import { describeDetails } from "../../model/entry-state-text";
import { buildNaturalKey, canonicalizeValue } from "../../model/entry-value";
import { sanitizeLine } from "../../model/text";
import type { DeclarationItem } from "./lifecycle";

/** The state of an entry: every argument with its actual value, and the fields that the service added. */
export interface AllowDenyEntryState extends Omit<AllowDenyEntryInputs, "adopt"> {
  /**
   * The undeclared row of the value on the other list, as of the last check. A run of a deny fails while it exists; a run of an
   * allow reports it.
   */
  readonly conflict?: string;
  /** The service's id if it differs from the resource's own, which an update can't change. */
  readonly entryId?: string;
  readonly createdAt?: string;
  readonly createdBy?: string;
}

export type EntryIdentity = Pick<AllowDenyEntryInputs, "list" | "value" | "entryType" | "verdictScope">;

/** Returns whether a row has an entry's scope. A service without scopes holds one entry per value. */
export function hasScope(
  { verdict_scope: scope }: Pick<AllowDenyEntryRow, "verdict_scope">,
  { verdictScope }: Pick<EntryIdentity, "verdictScope">,
): boolean {
  return (scope ?? verdictScope) === verdictScope;
}

/** Returns whether a row of an entry's value is the entry, or a duplicate of it on either list: it has the same type and scope. */
export function isRowOfEntry(
  row: AllowDenyEntryRow,
  entry: Pick<EntryIdentity, "entryType" | "verdictScope">,
): boolean {
  return row.entry_type === entry.entryType && hasScope(row, entry);
}

/**
 * Returns what distinguishes an entry from those of other tenants. An id alone doesn't, since two tenants may use the same ids.
 */
export function getManagedId(entry: {
  readonly id: string;
  readonly entryType: string;
  readonly value: string;
}): string {
  return `${sanitizeLine(entry.id)} ${buildNaturalKey(entry.entryType, entry.value)}`;
}

export function getManagedRowId(row: AllowDenyEntryRow): string {
  return getManagedId({ ...row, entryType: row.entry_type });
}

/** Returns the rows of one value that are the same entry as the given one, including itself: same list, type and scope. */
export function findDuplicateRows(row: AllowDenyEntryRow, rows: readonly AllowDenyEntryRow[]): AllowDenyEntryRow[] {
  const getScope = ({ verdict_scope = DEFAULT_VERDICT_SCOPE }: AllowDenyEntryRow): string => verdict_scope;
  return rows.filter(
    (candidate) =>
      candidate.list === row.list && candidate.entry_type === row.entry_type && getScope(candidate) === getScope(row),
  );
}

/** Returns the mutable fields whose actual value, at the service or in state, differs from the declaration. */
export function buildEntryChange(actual: object, inputs: AllowDenyEntryInputs): EntryChange {
  return buildChangeBody(ENTRY_FIELD_DEFINITIONS, { ...actual }, { ...inputs }) as EntryChange;
}

/** Returns the id of an entry's resource: the service's id in printable form, since Pulumi prints it unchanged. */
export function getResourceId(row: AllowDenyEntryRow): string {
  return sanitizeLine(row.id);
}

/**
 * Builds the state of an entry. Value and comment keep the declared spelling rather than the service's. Fields that only the
 * service sets are sanitized for display.
 */
export function buildAllowDenyEntryState(
  id: string,
  row: AllowDenyEntryRow,
  declared: Omit<AllowDenyEntryInputs, "verdictScope" | "adopt"> & { readonly verdictScope?: string },
): AllowDenyEntryState {
  // A risk accepted for one list isn't accepted for the other.
  const unsentSource = row.list === declared.list ? { ...declared } : {};
  return {
    ...(pickRowValues(ENTRY_FIELD_DEFINITIONS, row, {
      verdictScope: DEFAULT_VERDICT_SCOPE,
      ...declared,
    }) as Pick<AllowDenyEntryState, "list" | "value" | "entryType" | "verdictScope">),
    ...(row.id === id ? {} : { entryId: row.id }),
    ...(row.created_at === undefined ? {} : { createdAt: sanitizeLine(row.created_at) }),
    ...(row.created_by === undefined ? {} : { createdBy: sanitizeLine(row.created_by) }),
    ...pickUnsentValues(ENTRY_FIELD_DEFINITIONS, unsentSource),
  };
}

/** Returns whether a row matches the entry's state in all fields that an update in place can change. */
export function rowMatchesState(row: AllowDenyEntryRow, id: string, state: AllowDenyEntryState): boolean {
  return areSentFieldsEqual(ENTRY_FIELD_DEFINITIONS, { ...state }, { ...buildAllowDenyEntryState(id, row, state) });
}

/** Returns the key of a row. If the service doesn't report its scope, uses that of the fallback. */
export function buildRowDeclarationKey(row: AllowDenyEntryRow, fallback: { readonly verdictScope: string }): string {
  return buildEntryDeclarationKey({
    list: row.list,
    entryType: row.entry_type,
    value: row.value,
    verdictScope: row.verdict_scope ?? fallback.verdictScope,
  });
}

export function buildEntryDeclaration(inputs: Omit<AllowDenyEntryInputs, "adopt">, property: string): DeclarationItem {
  const { list } = inputs;
  const value = canonicalizeValue(inputs.value);
  return {
    key: buildEntryDeclarationKey(inputs),
    subject: encodeEntryKey(inputs),
    // A value may occur once per scope on a list, but never on both lists.
    getRelatedSubjects: () =>
      KNOWN_VERDICT_SCOPES.filter((scope) => scope !== inputs.verdictScope).map((verdictScope) =>
        encodeEntryKey({ ...inputs, verdictScope }),
      ),
    property,
    name: `${list} ${value}`,
    description: `${list} ${value} with ${describeDetails(inputs)}`,
    target: { value, list },
  };
}

/** Returns the conflict in a state that fails every run: only a deny has one. */
export function getFailingConflict({ list, conflict }: AllowDenyEntryState): string | undefined {
  return list === "deny" ? conflict : undefined;
}
