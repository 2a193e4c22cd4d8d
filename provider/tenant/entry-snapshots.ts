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
  readonly #dropped = new Set<string>();

  constructor(
    client: SettingsClient,
    turns: Turns,
    clock: Pick<SnapshotOptions<AllowDenyEntryRow>, "now" | "sleep">,
  ) {
    const entries = (list: List) =>
      new Snapshot<AllowDenyEntryRow>({
        read: () => turns.read(() => readWhole((options) => client.allowDenyEntries.readAll(list, options))),
        key: (row) => row.id,
        name: keyOfValue,
        isShown: (row, rows) => isSameEntry(rows.get(row.id), row),
        ...clock,
      });
    this.#snapshots = { allow: entries("allow"), deny: entries("deny") };
  }

  /** Returns all entries of the latest snapshots; undefined if a list was never read. Sends no request. */
  newest(): readonly AllowDenyEntryRow[] | undefined {
    const lists = this.#both().map((snapshot) => snapshot.newest()?.all());
    const read = lists.filter((rows) => rows !== undefined);
    return read.length < lists.length ? undefined : read.flat();
  }

  known(id: string): AllowDenyEntryRow | undefined {
    return this.#snapshots.allow.known(id) ?? this.#snapshots.deny.known(id);
  }

  async find(query: KeyedQuery, read: ReadSnapshot): Promise<AllowDenyEntryRow | undefined> {
    return entryIn(await this.readBoth(read), query);
  }

  /** Finds an entry by {@link readSurely}. */
  async findSurely(
    query: EntryQuery,
    options: ConfirmOptions<AllowDenyEntryRow>,
  ): Promise<AllowDenyEntryRow | undefined> {
    const wanted = withKey(query);
    const find = (lists: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow | undefined => {
      const row = entryIn(lists, wanted);
      return query.id === undefined || row?.id === query.id ? row : undefined;
    };
    return entryIn(await readSurely(this.#both(), find, options), wanted);
  }

  async ofValue(query: EntryQuery, read: ReadSnapshot): Promise<AllowDenyEntryRow[]> {
    return ofValue(withKey(query), await this.readBoth(read));
  }

  /** Finds all entries of a value by {@link readSurely}. */
  async ofValueSurely(
    query: EntryQuery,
    isNamed: (row: AllowDenyEntryRow) => boolean,
  ): Promise<readonly AllowDenyEntryRow[]> {
    const wanted = withKey(query);
    const find = (lists: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow | undefined =>
      ofValue(wanted, lists).find(isNamed);
    return ofValue(wanted, await readSurely(this.#both(), find));
  }

  /** Finds the entry of an id, or all entries of a value; refetches if the snapshot has none. */
  async named(
    { id, value }: { readonly id: string; readonly value?: EntryValue | undefined },
    lists: readonly List[],
  ): Promise<readonly AllowDenyEntryRow[]> {
    const key = value === undefined ? undefined : naturalKey(value.entryType, value.canonical);
    const pick = (read: readonly Rows<AllowDenyEntryRow>[]): AllowDenyEntryRow[] => {
      const row = read.map((rows) => rows.get(id)).find((one) => one !== undefined);
      if (row !== undefined) return [row];
      return key === undefined ? [] : read.flatMap((rows) => rows.named(key));
    };
    const found = pick(await this.read(lists, (snapshot) => snapshot.rows()));
    if (found.length > 0) return found;
    const isMissing = (rows: Rows<AllowDenyEntryRow>) => pick([rows]).length === 0;
    return pick(await this.read(lists, (snapshot) => snapshot.secondOpinion(isMissing)));
  }

  async readBoth(read: ReadSnapshot): Promise<Rows<AllowDenyEntryRow>[]> {
    return await this.read(LISTS, read);
  }

  async read(lists: readonly List[], read: ReadSnapshot): Promise<Rows<AllowDenyEntryRow>[]> {
    return await Promise.all(lists.map((list) => read(this.#snapshots[list])));
  }

  /** Calls {@link Snapshot.readLater} for both lists. */
  readLater(): Promise<boolean> {
    return readLater(this.#both());
  }

  put(row: AllowDenyEntryRow): AllowDenyEntryRow {
    this.#dropped.delete(row.id);
    for (const list of LISTS) {
      if (row.list === list) this.#snapshots[list].put(row);
      else this.#snapshots[list].drop(row.id);
    }
    return row;
  }

  /** Records that an entry was removed. */
  drop(id: string): void {
    this.#dropped.add(id);
    for (const list of LISTS) this.#snapshots[list].drop(id);
  }

  isDropped(id: string): boolean {
    return this.#dropped.has(id);
  }

  /** Records that the service doesn't know an entry. Later readings show whether it is gone. */
  forget(id: string): void {
    for (const list of LISTS) this.#snapshots[list].forget(id);
  }

  #both(): readonly Snapshot<AllowDenyEntryRow>[] {
    return LISTS.map((list) => this.#snapshots[list]);
  }
}

type ReadSnapshot = (snapshot: Snapshot<AllowDenyEntryRow>) => Promise<Rows<AllowDenyEntryRow>>;

/** Whether a list shows an entry as it was written. */
function isSameEntry(listed: AllowDenyEntryRow | undefined, written: AllowDenyEntryRow): boolean {
  return listed !== undefined && isSameRow(ENTRY_FIELDS, listed, written);
}
