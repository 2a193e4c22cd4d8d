import type { AllowDenyEntryRow } from "../../client";
import { ENTRY_FIELDS, unsentValues } from "../../settings/entry-fields";
import { naturalKey } from "../../settings/entry-value";
import { type KeyedList, type ListedEntry, readEntry, textOfEntry } from "../../settings/keyed-list";

/** An entry of a list, with its key there. */
export type KeyedEntry = readonly [key: string, entry: ListedEntry];

/** Parses the entries of a keyed list; skips unreadable and unknown texts. */
export function entriesOf(content: KeyedList | readonly (readonly [string, string])[]): KeyedEntry[] {
  const encodedPairs = Array.isArray(content) ? content : Object.entries(content);
  return encodedPairs.flatMap(([key, text]) => {
    const entry = typeof text === "string" ? readEntry(key, text) : undefined;
    return entry === undefined ? [] : [[key, entry] as const];
  });
}

export function naturalKeyOf(entry: ListedEntry): string {
  return naturalKey(entry.entryType, entry.value);
}

/** The text of a row. Fields that the service is never sent are those that are known, unless the entry is on the other list now. */
export function textOfRow(row: AllowDenyEntryRow, knownEntry: ListedEntry): string {
  if (row.list !== knownEntry.list) return textOfEntry(row);
  return textOfEntry({
    ...row,
    ...unsentValues(ENTRY_FIELDS, { ...knownEntry }),
    unknown: knownEntry.unknown,
  });
}
