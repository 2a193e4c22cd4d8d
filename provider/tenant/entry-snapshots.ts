import type { AllowDenyEntryRow, SettingsClient } from "../client";
import { LISTS, type List } from "../settings/assumptions";
import { ENTRY_FIELDS, isSameRow } from "../settings/entry-fields";
import { type EntryValue, naturalKey } from "../settings/entry-value";
import { type ConfirmOptions, readLater, readSurely } from "./confirmation";
import { type EntryQuery, entryIn, type KeyedQuery, keyOfValue, ofValue, withKey } from "./matching";
import type { Rows } from "./rows";
import { readWhole, Snapshot, type SnapshotOptions } from "./snapshot";
import type { Turns } from "./turns";

/** The snapshots of the allow list and the deny list. */
export class EntrySnapshots {
  readonly #snapshots: Readonly<Record<List, Snapshot<AllowDenyEntryRow>>>;
  /** The ids that were removed. */
  readonly #removedIds = new Set<string>();

  constructor(
    client: SettingsClient,
    readWriteLock: Turns,
    clock: Pick<SnapshotOptions<AllowDenyEntryRow>, "now" | "sleep">,
  ) {
    const entries = (list: List) =>
      new Snapshot<AllowDenyEntryRow>({
        read: () => readWriteLock.read(() => readWhole((options) => client.allowDenyEntries.readAll(list, options))),
        key: (row) => row.id,
        name: keyOfValue,
        isShown: (row, rows) => isSameEntry(rows.get(row.id), row),
        ...clock,
      });
    this.#snapshots = { allow: entries("allow"), deny: entries("deny") };
  }

  /** Returns all entries of the latest snapshots; undefined if a list was never read. Sends no request. */
  newest(): readonly AllowDenyEntryRow[] | undefined {
    const lists = this.#getBoth().map((snapshot) => snapshot.newest()?.all());
    const rowsRead = lists.filter((rows) => rows !== undefined);
    return rowsRead.length < lists.length ? undefined : rowsRead.flat();
  }

  known(id: string): AllowDenyEntryRow | undefined {
    return this.#snapshots.allow.known(id) ?? this.#snapshots.deny.known(id);
  }

  async find(query: KeyedQuery, readSnapshot: ReadSnapshot): Promise<AllowDenyEntryRow | undefined> {
    return entryIn(await this.readBoth(readSnapshot), query);
  }

  /** Finds an entry by {@link readSurely}. */
  async findSurely(
    query: EntryQuery,
    options: ConfirmOptions<AllowDenyEntryRow>,
  ): Promise<AllowDenyEntryRow | undefined> {
    const keyedQuery = withKey(query);
    const find = (lists: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow | undefined => {
      const row = entryIn(lists, keyedQuery);
      return query.id === undefined || row?.id === query.id ? row : undefined;
    };
    return entryIn(await readSurely(this.#getBoth(), find, options), keyedQuery);
  }

  async ofValue(query: EntryQuery, readSnapshot: ReadSnapshot): Promise<AllowDenyEntryRow[]> {
    return ofValue(withKey(query), await this.readBoth(readSnapshot));
  }

  /** Finds all entries of a value by {@link readSurely}. */
  async ofValueSurely(
    query: EntryQuery,
    isExpectedRow: (row: AllowDenyEntryRow) => boolean,
  ): Promise<readonly AllowDenyEntryRow[]> {
    const keyedQuery = withKey(query);
    const find = (lists: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow | undefined =>
      ofValue(keyedQuery, lists).find(isExpectedRow);
    return ofValue(keyedQuery, await readSurely(this.#getBoth(), find));
  }

  /** Finds the entry of an id, or all entries of a value; refetches if the snapshot has none. */
  async named(
    { id, value }: { readonly id: string; readonly value?: EntryValue | undefined },
    lists: readonly List[],
  ): Promise<readonly AllowDenyEntryRow[]> {
    const key = value === undefined ? undefined : naturalKey(value.entryType, value.canonical);
    const selectRows = (readRows: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow[] => {
      const row = readRows.map((rows) => rows.get(id)).find((one) => one !== undefined);
      if (row !== undefined) return [row];
      return key === undefined ? [] : readRows.flatMap((rows) => rows.named(key));
    };
    const found = selectRows(await this.read(lists, (snapshot) => snapshot.rows()));
    if (found.length > 0) return found;
    const isMissing = (rows: Rows<AllowDenyEntryRow>) => selectRows([rows]).length === 0;
    return selectRows(await this.read(lists, (snapshot) => snapshot.secondOpinion(isMissing)));
  }

  async readBoth(readSnapshot: ReadSnapshot): Promise<Rows<AllowDenyEntryRow>[]> {
    return await this.read(LISTS, readSnapshot);
  }

  async read(lists: readonly List[], readRows: ReadSnapshot): Promise<Rows<AllowDenyEntryRow>[]> {
    return await Promise.all(lists.map((list) => readRows(this.#snapshots[list])));
  }

  /** Calls {@link Snapshot.readLater} for both lists. */
  readLater(): Promise<boolean> {
    return readLater(this.#getBoth());
  }

  put(row: AllowDenyEntryRow): AllowDenyEntryRow {
    this.#removedIds.delete(row.id);
    for (const list of LISTS) {
      if (row.list === list) this.#snapshots[list].put(row);
      else this.#snapshots[list].drop(row.id);
    }
    return row;
  }

  /** Records that an entry was removed. */
  drop(id: string): void {
    this.#removedIds.add(id);
    for (const list of LISTS) this.#snapshots[list].drop(id);
  }

  isDropped(id: string): boolean {
    return this.#removedIds.has(id);
  }

  /** Records that the service doesn't know an entry. Later readings show whether it is gone. */
  forget(id: string): void {
    for (const list of LISTS) this.#snapshots[list].forget(id);
  }

  #getBoth(): readonly Snapshot<AllowDenyEntryRow>[] {
    return LISTS.map((list) => this.#snapshots[list]);
  }
}

type ReadSnapshot = (snapshot: Snapshot<AllowDenyEntryRow>) => Promise<Rows<AllowDenyEntryRow>>;

/** Whether a list shows an entry as it was written. */
function isSameEntry(listed: AllowDenyEntryRow | undefined, written: AllowDenyEntryRow): boolean {
  return listed !== undefined && isSameRow(ENTRY_FIELDS, listed, written);
}
