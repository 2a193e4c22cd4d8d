import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import type { List } from "../settings/assumptions";
import { canonicalMailbox, naturalKey } from "../settings/entry-value";
import type { Rows } from "./rows";

/*
 * Which rows of a tenant are what is looked for. What an entry or a VIP is about decides; an id only tells rows of the same
 * thing apart.
 */

/**
 * What to look for on the allow/deny list: by type and value, which never change at the service; of several such, the one of
 * that id, else of that scope. An id alone names nothing: another tenant's entries have the same ones.
 */
export interface EntryQuery {
  readonly id?: string | undefined;
  readonly entryType: string;
  readonly value: string;
  /** Preferred, where the value stands more than once. */
  readonly list: List;
  readonly verdictScope: string;
}

/** A query and the key of its value, which takes a while to work out. */
export interface KeyedQuery extends EntryQuery {
  readonly key: string;
}

export function withKey(query: EntryQuery): KeyedQuery {
  return { ...query, key: naturalKey(query.entryType, query.value) };
}

/** The row of a query, in the readings of both lists. */
export function entryIn(
  lists: readonly Rows<AllowDenyEntryRow>[],
  query: KeyedQuery,
): AllowDenyEntryRow | undefined {
  const rows = ofValue(query, lists);
  // An entry of another scope is another entry; a scope that the service does not tell can't be another one.
  const isOfScope = (row: AllowDenyEntryRow) =>
    (row.verdict_scope ?? query.verdictScope) === query.verdictScope;
  return rows.find(({ id }) => id === query.id) ?? rows.find(isOfScope);
}

/** The entries of a value, those of the wanted list first, and of these the one that is written so. */
export function ofValue(query: KeyedQuery, lists: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow[] {
  const entries = lists.flatMap((rows) => rows.named(query.key));
  if (entries.length < 2) return entries;
  return writtenSoFirst(
    [
      ...entries.filter((row) => row.list === query.list),
      ...entries.filter((row) => row.list !== query.list),
    ],
    query.value,
  );
}

/** Of rows of one value, those that are written so come before others of their list: a service may hold both. */
export function writtenSoFirst(rows: readonly AllowDenyEntryRow[], value: string): AllowDenyEntryRow[] {
  const byList = Map.groupBy(rows, ({ list }) => list);
  return [...byList.values()].flatMap((listRows) =>
    listRows.toSorted((one, other) => Number(other.value === value) - Number(one.value === value)),
  );
}

/** What an entry is about, which never changes at the service. */
export function keyOfValue({ entry_type, value }: Pick<AllowDenyEntryRow, "entry_type" | "value">): string {
  return naturalKey(entry_type, value);
}

/** Whether a row is about that and nothing else. */
export function isAbout(row: AllowDenyEntryRow, key: string): boolean {
  return keyOfValue(row) === key;
}

/** The row of a mailbox that counts. */
export function vipIn(rows: Rows<VipEmployeeRow>, email: string): VipEmployeeRow | undefined {
  return rowThatCounts(rows.named(canonicalMailbox(email)), email);
}

/**
 * Of the rows of one mailbox, the one that counts: one that is stored before one by automatic detection, then the one that is
 * written just so, then the last.
 */
export function rowThatCounts(rows: readonly VipEmployeeRow[], email: string): VipEmployeeRow | undefined {
  const getRank = (row: VipEmployeeRow) => (isStored(row) ? 2 : 0) + (row.email === email ? 1 : 0);
  return rows.toSorted((one, other) => getRank(one) - getRank(other)).at(-1);
}

/** Whether somebody added a VIP, or wrote of it; else only automatic detection holds it. */
export function isStored(row: VipEmployeeRow): boolean {
  return Boolean(row.added_by || row.comment);
}

/** Somebody who was neither added nor written of, and of whom the service does not say so either. */
export function isAutomatic(row: VipEmployeeRow): boolean {
  return !isStored(row) && row.source !== "manual";
}
