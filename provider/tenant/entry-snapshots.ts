import type { AllowDenyEntryRow, SettingsClient } from "../client";
import { ENTRY_LISTS, type List } from "../model/assumptions";
import { ENTRY_FIELD_DEFINITIONS, isSameRow } from "../model/entry-fields";
import type { EntryValue } from "../model/entry-value";
import {
  addQueryKey,
  type EntryQuery,
  findEntriesByValue,
  findMatchingEntry,
  getRowValueKey,
  type KeyedQuery,
} from "./match-rows";
import { type ConfirmOptions, readConfirmedRows, refetchIfLagging } from "./read-confirmed";
import type { ReadWriteLock } from "./read-write-lock";
import type { RowIndex } from "./row-index";
import { readListRows, Snapshot, type SnapshotOptions } from "./snapshot";

export class EntrySnapshots {
  readonly #snapshots: Readonly<Record<List, Snapshot<AllowDenyEntryRow>>>;
  readonly #removedIds = new Set<string>();
  /** The latest reads in which no row is on both lists. Own writes don't change that. */
  #disjointLists: readonly RowIndex<AllowDenyEntryRow>[] = [];

  constructor(
    client: SettingsClient,
    readWriteLock: ReadWriteLock,
    clock: Pick<SnapshotOptions<AllowDenyEntryRow>, "now" | "sleep">,
  ) {
    const createSnapshot = (list: List) =>
      new Snapshot<AllowDenyEntryRow>({
        read: () => readWriteLock.read(() => readListRows((options) => client.allowDenyEntries.readAll(list, options))),
        getKey: (row) => row.id,
        getName: getRowValueKey,
        isShown: (row, rows) => isSameEntry(rows.get(row.id), row),
        ...clock,
      });
    this.#snapshots = { allow: createSnapshot("allow"), deny: createSnapshot("deny") };
  }

  /** Returns all entries of the latest snapshots; undefined if a list was never read. Sends no request. */
  getLatestRows(): readonly AllowDenyEntryRow[] | undefined {
    const lists = this.#getBoth().map((snapshot) => snapshot.getLatestRows()?.getAll());
    const rowsRead = lists.filter((rows) => rows !== undefined);
    return rowsRead.length < lists.length ? undefined : rowsRead.flat();
  }

  getCached(id: string): AllowDenyEntryRow | undefined {
    return this.getAllCached(id)[0];
  }

  /** Returns the rows of an id from both lists. If both show it, one of them is stale. */
  getAllCached(id: string): readonly AllowDenyEntryRow[] {
    return this.#getBoth().flatMap((snapshot) => snapshot.getCached(id) ?? []);
  }

  async find(query: KeyedQuery, readSnapshot: ReadSnapshot): Promise<AllowDenyEntryRow | undefined> {
    return findMatchingEntry(await this.readBoth(readSnapshot), query);
  }

  async findConfirmed(
    query: EntryQuery,
    options: ConfirmOptions<AllowDenyEntryRow>,
  ): Promise<AllowDenyEntryRow | undefined> {
    const keyedQuery = addQueryKey(query);
    const find = (lists: readonly RowIndex<AllowDenyEntryRow>[]): AllowDenyEntryRow | undefined => {
      const row = findMatchingEntry(lists, keyedQuery);
      return query.id === undefined || row?.id === query.id ? row : undefined;
    };
    const lists = await this.#resolveOverlap(await readConfirmedRows(this.#getBoth(), find, options));
    return findMatchingEntry(lists, keyedQuery);
  }

  async findByValue(query: EntryQuery, readSnapshot: ReadSnapshot): Promise<AllowDenyEntryRow[]> {
    return findEntriesByValue(addQueryKey(query), await this.readBoth(readSnapshot));
  }

  async findByValueConfirmed(
    query: EntryQuery,
    isExpectedRow: (row: AllowDenyEntryRow) => boolean,
  ): Promise<readonly AllowDenyEntryRow[]> {
    const keyedQuery = addQueryKey(query);
    const find = (lists: readonly RowIndex<AllowDenyEntryRow>[]): AllowDenyEntryRow | undefined =>
      findEntriesByValue(keyedQuery, lists).find(isExpectedRow);
    const lists = await this.#resolveOverlap(await readConfirmedRows(this.#getBoth(), find));
    return findEntriesByValue(keyedQuery, lists);
  }

  /** Finds the entry of an id, or all entries of a value; refetches if the snapshot has none. */
  async findByIdOrValue(
    { id, value }: { readonly id: string; readonly value?: EntryValue | undefined },
    lists: readonly List[],
  ): Promise<readonly AllowDenyEntryRow[]> {
    const selectRows = (readRows: readonly RowIndex<AllowDenyEntryRow>[]): AllowDenyEntryRow[] => {
      const row = readRows.map((rows) => rows.get(id)).find((candidate) => candidate !== undefined);
      if (row !== undefined) return [row];
      if (value === undefined) return [];
      const isOfType = ({ entry_type }: AllowDenyEntryRow): boolean => entry_type === value.entryType;
      return readRows.flatMap((rows) => rows.getByName(value.canonical).filter(isOfType));
    };
    const matchingRows = selectRows(await this.read(lists, (snapshot) => snapshot.getRows()));
    if (matchingRows.length > 0) return matchingRows;
    const isMissing = (rows: RowIndex<AllowDenyEntryRow>) => selectRows([rows]).length === 0;
    return selectRows(await this.read(lists, (snapshot) => snapshot.confirmMissing(isMissing)));
  }

  async readBoth(readSnapshot: ReadSnapshot): Promise<readonly RowIndex<AllowDenyEntryRow>[]> {
    return await this.read(ENTRY_LISTS, readSnapshot);
  }

  async read(lists: readonly List[], readSnapshot: ReadSnapshot): Promise<readonly RowIndex<AllowDenyEntryRow>[]> {
    return await this.#resolveOverlap(await Promise.all(lists.map((list) => readSnapshot(this.#snapshots[list]))));
  }

  /**
   * Refetches lists that both show the same row, because an earlier run may have moved it and one of the two may be
   * stale. Returns lists with the overlap if it persists longer than lists can lag.
   */
  async #resolveOverlap(
    readLists: readonly RowIndex<AllowDenyEntryRow>[],
  ): Promise<readonly RowIndex<AllowDenyEntryRow>[]> {
    let lists = readLists;
    while (this.#hasOverlap(lists) && (await this.refetchIfLagging()))
      lists = await Promise.all(this.#getBoth().map((snapshot) => snapshot.getRows()));
    return lists;
  }

  #hasOverlap(lists: readonly RowIndex<AllowDenyEntryRow>[]): boolean {
    const [a, b] = lists;
    if (a === undefined || b === undefined) return false;
    if (lists.every((rows, index) => rows === this.#disjointLists[index])) return false;
    if (a.sharesKeyWith(b)) return true;
    this.#disjointLists = lists;
    return false;
  }

  refetchIfLagging(): Promise<boolean> {
    return refetchIfLagging(this.#getBoth());
  }

  put(row: AllowDenyEntryRow): AllowDenyEntryRow {
    this.#removedIds.delete(row.id);
    for (const list of ENTRY_LISTS) {
      if (row.list === list) this.#snapshots[list].put(row);
      else this.#snapshots[list].drop(row.id);
    }
    return row;
  }

  drop(id: string): void {
    this.#removedIds.add(id);
    for (const list of ENTRY_LISTS) this.#snapshots[list].drop(id);
  }

  hasDropped(id: string): boolean {
    return this.#removedIds.has(id);
  }

  /** Records that the service doesn't know an entry. Later reads show whether it is gone. */
  forget(id: string): void {
    for (const list of ENTRY_LISTS) this.#snapshots[list].forget(id);
  }

  #getBoth(): readonly Snapshot<AllowDenyEntryRow>[] {
    return ENTRY_LISTS.map((list) => this.#snapshots[list]);
  }
}

type ReadSnapshot = (snapshot: Snapshot<AllowDenyEntryRow>) => Promise<RowIndex<AllowDenyEntryRow>>;

function isSameEntry(listed: AllowDenyEntryRow | undefined, written: AllowDenyEntryRow): boolean {
  return listed !== undefined && isSameRow(ENTRY_FIELD_DEFINITIONS, listed, written);
}
