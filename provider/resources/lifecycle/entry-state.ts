import type { AllowDenyEntryRow, EntryChange } from "../../client";
import type { AllowDenyEntryInputs } from "../../settings/arguments";
import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICT_SCOPES } from "../../settings/assumptions";
import {
  changeBody,
  ENTRY_FIELDS,
  isSentAlike,
  unsentValues,
  valuesOfRow,
} from "../../settings/entry-fields";
import { canonicalValue, naturalKey } from "../../settings/entry-value";
import { entryKey, keyOfEntry } from "../../settings/keyed-list";
import { describeDetails } from "../../settings/standing-text";
import { printable } from "../../settings/text";
import type { DeclaredThing } from "./lifecycle";

/** What the state holds of an entry: every argument as it stands, and what the service added. */
export interface AllowDenyEntryState extends Omit<AllowDenyEntryInputs, "adopt"> {
  /**
   * What the tenant holds of the value on the other list, and the program doesn't declare, as the last look found it. A run of a deny fails
   * while it is there; one of an allow names it.
   */
  readonly conflict?: string;
  /** The service's id where it is not the resource's own, which can't change in an update. */
  readonly entryId?: string;
  readonly createdAt?: string;
  readonly createdBy?: string;
}

/** The fields that tell an entry from others of the same tenant. */
export type EntryPlace = Pick<AllowDenyEntryInputs, "list" | "value" | "entryType" | "verdictScope">;

/** Whether a row is of an entry's scope. A service that doesn't tell the scope holds one entry of a value. */
export function isOfScope(
  { verdict_scope: scope }: Pick<AllowDenyEntryRow, "verdict_scope">,
  { verdictScope }: Pick<EntryPlace, "verdictScope">,
): boolean {
  return (scope ?? verdictScope) === verdictScope;
}

/** What tells an entry from those of other tenants: an id alone does not, since two may number theirs alike. */
export function heldAs(entry: {
  readonly id: string;
  readonly entryType: string;
  readonly value: string;
}): string {
  return `${printable(entry.id)} ${naturalKey(entry.entryType, entry.value)}`;
}

/** {@link heldAs} for a row. */
export function holdKeyOf(row: AllowDenyEntryRow): string {
  return heldAs({ ...row, entryType: row.entry_type });
}

/** The rows that are the same entry as one, which is among them: of the same value, list and scope. */
export function duplicatesOf(
  row: AllowDenyEntryRow,
  rows: readonly AllowDenyEntryRow[],
): AllowDenyEntryRow[] {
  const getScope = ({ verdict_scope = DEFAULT_VERDICT_SCOPE }: AllowDenyEntryRow): string => verdict_scope;
  return rows.filter((candidate) => candidate.list === row.list && getScope(candidate) === getScope(row));
}

/** The mutable fields in which what the service holds, or the state says, differs from what is declared. */
export function differenceOf(actual: object, inputs: AllowDenyEntryInputs): EntryChange {
  return changeBody(ENTRY_FIELDS, { ...actual }, { ...inputs }) as EntryChange;
}

/** The id of an entry's resource: the service's own, which Pulumi prints as it is, in a form that can be printed. */
export function resourceId(row: AllowDenyEntryRow): string {
  return printable(row.id);
}

/**
 * The state of an entry; its value, and a comment in another form, as written rather than as echoed. What only the
 * service says is there to be shown.
 */
export function stateOf(
  id: string,
  row: AllowDenyEntryRow,
  declared: Omit<AllowDenyEntryInputs, "verdictScope" | "adopt"> & { readonly verdictScope?: string },
): AllowDenyEntryState {
  // What was accepted on one list is not accepted on the other.
  const unsentSource = row.list === declared.list ? { ...declared } : {};
  return {
    ...(valuesOfRow(ENTRY_FIELDS, row, { verdictScope: DEFAULT_VERDICT_SCOPE, ...declared }) as Pick<
      AllowDenyEntryState,
      "list" | "value" | "entryType" | "verdictScope"
    >),
    ...(row.id === id ? {} : { entryId: row.id }),
    ...(row.created_at === undefined ? {} : { createdAt: printable(row.created_at) }),
    ...(row.created_by === undefined ? {} : { createdBy: printable(row.created_by) }),
    ...unsentValues(ENTRY_FIELDS, unsentSource),
  };
}

/** Whether a row is as the state of its entry has it, in all that a change in place could have changed. */
export function isAsInState(row: AllowDenyEntryRow, id: string, state: AllowDenyEntryState): boolean {
  return isSentAlike(ENTRY_FIELDS, { ...state }, { ...stateOf(id, row, state) });
}

/** The key of a row; a scope that the service does not tell is taken to be the given one. */
export function keyOf(row: AllowDenyEntryRow, fallback: { readonly verdictScope: string }): string {
  return entryKey({
    list: row.list,
    entryType: row.entry_type,
    value: row.value,
    verdictScope: row.verdict_scope ?? fallback.verdictScope,
  });
}

/** A declared entry, as the program's other declarations are compared with it. */
export function declaredEntry(inputs: Omit<AllowDenyEntryInputs, "adopt">, property: string): DeclaredThing {
  const { list } = inputs;
  const value = canonicalValue(inputs.value);
  return {
    key: entryKey(inputs),
    subject: keyOfEntry(inputs),
    // One value may stand on a list once per scope, but never on both lists.
    kin: () =>
      KNOWN_VERDICT_SCOPES.filter((scope) => scope !== inputs.verdictScope).map((verdictScope) =>
        keyOfEntry({ ...inputs, verdictScope }),
      ),
    property,
    name: `${list} ${value}`,
    claim: `${list} ${value} with ${describeDetails(inputs)}`,
    target: { value, list },
  };
}
