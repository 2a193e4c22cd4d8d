import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import type { List } from "../model/assumptions";
import { buildNaturalKey, canonicalizeMailbox, canonicalizeValue } from "../model/entry-value";
import type { RowIndex } from "./row-index";

/*
 * Finds the rows of a tenant that match a query. The value of an entry or the mailbox of a VIP decides; an id only
 * distinguishes rows with the same value.
 */

/**
 * Identifies an allow/deny entry by type and value, which are immutable at the service. If several match, the one with the
 * given id wins, then the one with the given scope. An id alone doesn't identify an entry, because other tenants use the same
 * ids.
 */
export interface EntryQuery {
  readonly id?: string | undefined;
  readonly entryType: string;
  readonly value: string;
  /** The preferred list if the value is on several. */
  readonly list: List;
  readonly verdictScope: string;
}

/** A query with the canonical form of its value, which is expensive to compute. */
export interface KeyedQuery extends EntryQuery {
  readonly key: string;
}

export function addQueryKey(query: EntryQuery): KeyedQuery {
  return { ...query, key: canonicalizeValue(query.value) };
}

export function findMatchingEntry(
  lists: readonly RowIndex<AllowDenyEntryRow>[],
  query: KeyedQuery,
): AllowDenyEntryRow | undefined {
  const rows = findEntriesByValue(query, lists).filter(({ entry_type }) => entry_type === query.entryType);
  // An entry of another scope is a different entry. An entry without a scope may match any.
  const isOfScope = (row: AllowDenyEntryRow) => (row.verdict_scope ?? query.verdictScope) === query.verdictScope;
  return rows.find(({ id }) => id === query.id) ?? rows.find(isOfScope);
}

/**
 * Returns the entries of a value, whatever their types: those of the preferred list first, and within a list those with the same spelling
 * first.
 */
export function findEntriesByValue(
  query: KeyedQuery,
  lists: readonly RowIndex<AllowDenyEntryRow>[],
): AllowDenyEntryRow[] {
  const entries = lists.flatMap((rows) => rows.getByName(query.key));
  if (entries.length < 2) return entries;
  return sortBySpelling(
    [...entries.filter((row) => row.list === query.list), ...entries.filter((row) => row.list !== query.list)],
    query.value,
  );
}

/** Sorts rows with the same spelling before others of their list, since a service may hold both. */
export function sortBySpelling(rows: readonly AllowDenyEntryRow[], value: string): AllowDenyEntryRow[] {
  const byList = Map.groupBy(rows, ({ list }) => list);
  return [...byList.values()].flatMap((listRows) =>
    listRows.toSorted((a, b) => Number(b.value === value) - Number(a.value === value)),
  );
}

/** Returns the key of an entry's type and value, which are immutable at the service. */
export function getRowNaturalKey({ entry_type, value }: Pick<AllowDenyEntryRow, "entry_type" | "value">): string {
  return buildNaturalKey(entry_type, value);
}

export function getRowValueKey({ value }: Pick<AllowDenyEntryRow, "value">): string {
  return canonicalizeValue(value);
}

/** Whether a row has exactly this value. */
export function hasNaturalKey(row: AllowDenyEntryRow, key: string): boolean {
  return getRowNaturalKey(row) === key;
}

export function findEffectiveVip(rows: RowIndex<VipEmployeeRow>, email: string): VipEmployeeRow | undefined {
  return selectEffectiveRow(rows.getByName(canonicalizeMailbox(email)), email);
}

/**
 * Returns the effective row among those of one mailbox. A stored row precedes an automatically detected one, then the same
 * spelling wins, then the last row.
 */
export function selectEffectiveRow(rows: readonly VipEmployeeRow[], email: string): VipEmployeeRow | undefined {
  const getRank = (row: VipEmployeeRow) => (isStoredRow(row) ? 2 : 0) + (row.email === email ? 1 : 0);
  return rows.toSorted((a, b) => getRank(a) - getRank(b)).at(-1);
}

/** Whether a VIP was added or edited by a person. Otherwise only automatic detection lists it. */
export function isStoredRow(row: VipEmployeeRow): boolean {
  return Boolean(row.added_by || row.comment);
}

/** Whether a row comes from automatic detection alone. False if the service marks it otherwise. */
export function isAutoDetected(row: VipEmployeeRow): boolean {
  return !isStoredRow(row) && row.source !== "manual";
}
