import type { AllowDenyEntryRow } from "../../client";
import { DEFAULT_VERDICT_SCOPE, LISTS } from "../../settings/assumptions";
import {
  anotherKey,
  type KeyedList,
  keyOfEntry,
  type ListedEntry,
  readEntry,
} from "../../settings/keyed-list";
import { writtenSoFirst } from "../../tenant";

/** Matches rows of the tenant with keys of a keyed list, and collects the other rows. Plans and runs share it, so they agree. */
export class EntryMatch {
  readonly found = new Map<string, AllowDenyEntryRow>();
  /** The keys without a row. */
  readonly missing: readonly string[];
  readonly #rows: readonly AllowDenyEntryRow[];
  readonly #byKey: KeyedRows["byKey"];
  readonly #taken = new Set<AllowDenyEntryRow>();

  /** @param rows the tenant's rows, which {@link keyedRows} keys once for several uses. */
  constructor(known: KeyedList, { rows, byKey }: KeyedRows) {
    this.#rows = rows;
    this.#byKey = byKey;
    const missing: string[] = [];
    for (const key of Object.keys(known)) {
      const text = known[key];
      const entry = typeof text === "string" ? readEntry(key, text) : undefined;
      if (entry === undefined) continue;
      const same = this.#byKey.get(keyOfEntry(entry));
      const [only] = same ?? [];
      if (same?.length === 1 && only !== undefined && !this.#taken.has(only)) {
        this.found.set(key, only);
        this.#taken.add(only);
        continue;
      }
      const alike = same ?? untold(entry, this.#byKey);
      const candidates = alike.length < 2 ? alike : writtenSoFirst(alike, entry.value);
      const row =
        candidates.find((one) => one.list === entry.list) ?? candidates.find((one) => !this.#taken.has(one));
      if (row === undefined) missing.push(key);
      else this.take(key, row);
    }
    this.missing = missing;
  }

  /** Assigns a row to a key. Duplicates on one list count as one. */
  take(key: string, row: AllowDenyEntryRow): void {
    this.found.set(key, row);
    for (const one of this.alike(row)) this.#taken.add(one);
  }

  /** Returns the rows that are the same entry as this one. */
  alike(row: AllowDenyEntryRow): readonly AllowDenyEntryRow[] {
    const all = this.#byKey.get(keyOfRow(row)) ?? [];
    return all.length === 1 && all[0] === row ? all : all.filter((one) => one.list === row.list);
  }

  /** Returns the rows beside the known keys, each under its own key. */
  others(): ReadonlyMap<string, AllowDenyEntryRow> {
    const others = new Map<string, AllowDenyEntryRow>();
    for (const row of this.#rows) {
      if (this.#taken.has(row)) continue;
      const key = keyOfRow(row);
      const isTaken = (one: string): boolean => this.found.has(one) || others.has(one);
      others.set(isTaken(key) ? anotherKey(key, row.list, isTaken) : key, row);
    }
    return others;
  }
}

/** Rows of the lists that this release knows, by the keys of a keyed list. */
export interface KeyedRows {
  readonly rows: readonly AllowDenyEntryRow[];
  readonly byKey: ReadonlyMap<string, readonly AllowDenyEntryRow[]>;
}

/** @param byKey all rows by their keys, if known. */
export function keyedRows(all: readonly AllowDenyEntryRow[], byKey?: KeyedRows["byKey"]): KeyedRows {
  const isOfList = (row: AllowDenyEntryRow): boolean => LISTS.some((list) => list === row.list);
  if (all.every(isOfList)) return { rows: all, byKey: byKey ?? Map.groupBy(all, keyOfRow) };
  const rows = all.filter(isOfList);
  return { rows, byKey: Map.groupBy(rows, keyOfRow) };
}

/** Returns the key of a row in a keyed list. */
export function keyOfRow(row: AllowDenyEntryRow): string {
  return keyOfEntry({
    value: row.value,
    entryType: row.entry_type,
    verdictScope: row.verdict_scope ?? DEFAULT_VERDICT_SCOPE,
  });
}

/** Rows without a scope match any requested scope. */
function untold(
  entry: ListedEntry,
  byKey: ReadonlyMap<string, readonly AllowDenyEntryRow[]>,
): readonly AllowDenyEntryRow[] {
  if (entry.verdictScope === DEFAULT_VERDICT_SCOPE) return [];
  const rows = byKey.get(keyOfEntry({ ...entry, verdictScope: DEFAULT_VERDICT_SCOPE })) ?? [];
  return rows.filter((row) => row.verdict_scope === undefined);
}
