import type { AllowDenyEntryRow } from "../../client";
import { decodeEntry, type EncodedList, encodeEntry, type ListedEntry } from "../../model/encoded-list";
import { ENTRY_FIELD_DEFINITIONS, pickUnsentValues } from "../../model/entry-fields";
import { buildNaturalKey } from "../../model/entry-value";

export type KeyedEntry = readonly [key: string, entry: ListedEntry];

export function decodeEntries(content: EncodedList | readonly (readonly [string, string])[]): KeyedEntry[] {
  const encodedPairs = Array.isArray(content) ? content : Object.entries(content);
  return encodedPairs.flatMap(([key, text]) => {
    const entry = typeof text === "string" ? decodeEntry(key, text) : undefined;
    return entry === undefined ? [] : [[key, entry] as const];
  });
}

export function getNaturalKey(entry: ListedEntry): string {
  return buildNaturalKey(entry.entryType, entry.value);
}

/**
 * Encodes a row. Fields that are never sent to the service come from the known entry, unless the entry is now on the
 * other list.
 */
export function encodeRow(row: AllowDenyEntryRow, knownEntry: ListedEntry): string {
  if (row.list !== knownEntry.list) return encodeEntry(row);
  return encodeEntry({
    ...row,
    ...pickUnsentValues(ENTRY_FIELD_DEFINITIONS, { ...knownEntry }),
    unknown: knownEntry.unknown,
  });
}
