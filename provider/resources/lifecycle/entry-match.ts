import type { AllowDenyEntryRow } from "../../client";
import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS } from "../../model/assumptions";
import { isSameListText } from "../../model/compare-arguments";
import {
  buildAlternateKey,
  decodeEntry,
  type EncodedList,
  encodeEntryKey,
  type ListedEntry,
  stripUnmanaged,
} from "../../model/encoded-list";
import { sortBySpelling } from "../../tenant";
import { encodeRow } from "./decode-entries";

/**
 * Matches rows of the tenant with keys of an encoded list, and collects the other rows. Plans and runs share it, so
 * they agree.
 */
export class EntryMatch {
  readonly matches = new Map<string, AllowDenyEntryRow>();
  /** The keys without a row. */
  readonly missingKeys: readonly string[];
  readonly #rows: readonly AllowDenyEntryRow[];
  readonly #byKey: KeyedRows["byKey"];
  readonly #assigned = new Set<AllowDenyEntryRow>();

  /** @param rows the tenant's rows, which {@link buildKeyedRows} indexes once for several uses. */
  constructor(known: EncodedList, { rows, byKey }: KeyedRows) {
    this.#rows = rows;
    this.#byKey = byKey;
    const missing: string[] = [];
    for (const key of Object.keys(known)) {
      const text = known[key];
      const entry = typeof text === "string" ? decodeEntry(key, text) : undefined;
      if (entry === undefined) continue;
      const rowsOfKey = this.#byKey.get(encodeEntryKey(entry));
      const [singleRow] = rowsOfKey ?? [];
      if (rowsOfKey?.length === 1 && singleRow !== undefined && !this.#assigned.has(singleRow)) {
        this.matches.set(key, singleRow);
        this.#assigned.add(singleRow);
        continue;
      }
      const equalRows = rowsOfKey ?? findRowsWithoutScope(entry, this.#byKey);
      const candidates = equalRows.length < 2 ? equalRows : sortBySpelling(equalRows, entry.value);
      const isOnList = (candidate: AllowDenyEntryRow): boolean => candidate.list === entry.list;
      const matchesKnownEntry = (candidate: AllowDenyEntryRow): boolean =>
        isOnList(candidate) && isSameListText(encodeRow(candidate, entry), stripUnmanaged(text ?? ""));
      const row =
        (candidates.length < 2 ? undefined : candidates.find(matchesKnownEntry)) ??
        candidates.find(isOnList) ??
        candidates.find((candidate) => !this.#assigned.has(candidate));
      if (row === undefined) missing.push(key);
      else this.assign(key, row);
    }
    this.missingKeys = missing;
  }

  /** Assigns a row to a key. Duplicates on one list count as one. */
  assign(key: string, row: AllowDenyEntryRow): void {
    this.matches.set(key, row);
    for (const candidate of this.getDuplicates(row)) this.#assigned.add(candidate);
  }

  getDuplicates(row: AllowDenyEntryRow): readonly AllowDenyEntryRow[] {
    const allRows = this.#byKey.get(encodeRowKey(row)) ?? [];
    return allRows.length === 1 && allRows[0] === row
      ? allRows
      : allRows.filter((candidate) => candidate.list === row.list);
  }

  /** Returns the rows that match no known key, each under its own key. */
  getUnmatched(): ReadonlyMap<string, AllowDenyEntryRow> {
    const unmatchedRows = new Map<string, AllowDenyEntryRow>();
    for (const row of this.#rows) {
      if (this.#assigned.has(row)) continue;
      const key = encodeRowKey(row);
      const isUsedKey = (candidate: string): boolean => this.matches.has(candidate) || unmatchedRows.has(candidate);
      unmatchedRows.set(isUsedKey(key) ? buildAlternateKey(key, row.list, isUsedKey) : key, row);
    }
    return unmatchedRows;
  }
}

export interface KeyedRows {
  readonly rows: readonly AllowDenyEntryRow[];
  readonly byKey: ReadonlyMap<string, readonly AllowDenyEntryRow[]>;
}

/** @param byKey all rows by key, if already known. */
export function buildKeyedRows(allRows: readonly AllowDenyEntryRow[], byKey?: KeyedRows["byKey"]): KeyedRows {
  const isOnKnownList = (row: AllowDenyEntryRow): boolean => ENTRY_LISTS.some((list) => list === row.list);
  if (allRows.every(isOnKnownList)) return { rows: allRows, byKey: byKey ?? Map.groupBy(allRows, encodeRowKey) };
  const rows = allRows.filter(isOnKnownList);
  return { rows, byKey: Map.groupBy(rows, encodeRowKey) };
}

export function encodeRowKey(row: AllowDenyEntryRow): string {
  return encodeEntryKey({
    value: row.value,
    entryType: row.entry_type,
    verdictScope: row.verdict_scope ?? DEFAULT_VERDICT_SCOPE,
  });
}

/** If the service doesn't report the scope of a row, it counts as the requested scope. */
function findRowsWithoutScope(
  entry: ListedEntry,
  byKey: ReadonlyMap<string, readonly AllowDenyEntryRow[]>,
): readonly AllowDenyEntryRow[] {
  if (entry.verdictScope === DEFAULT_VERDICT_SCOPE) return [];
  const rows = byKey.get(encodeEntryKey({ ...entry, verdictScope: DEFAULT_VERDICT_SCOPE })) ?? [];
  return rows.filter((row) => row.verdict_scope === undefined);
}
