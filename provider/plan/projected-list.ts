import { decodeEntry, encodeEntry, type ListedEntry } from "../model/encoded-list";
import type { UnratedChange } from "./change-rating";
import type { DesiredState } from "./desired-state";
import type { ObservedState } from "./observed-state";

export function projectEntryList(
  desired: DesiredState,
  observed: ObservedState,
  changes: readonly UnratedChange[],
): ListedEntry[] {
  const projected = new Map<string, ListedEntry>();
  const removedKeys = new Set(
    changes.filter(({ kind, operation }) => kind === "entry" && operation === "remove").map(({ key }) => key),
  );
  const addEntry = (key: string, text: string): boolean => {
    const entry = decodeEntry(key, text);
    if (entry !== undefined) projected.set(key, entry);
    return entry !== undefined;
  };
  const lists = desired.lists.filter(({ kind }) => kind === "entry");
  for (const [key, [row]] of observed.entries) {
    // The declaration wins over the row.
    const text = lists.findLast(({ declared }) => Object.hasOwn(declared, key))?.declared[key];
    if (text !== undefined && addEntry(key, text)) continue;
    if (row !== undefined && !removedKeys.has(key)) addEntry(key, encodeEntry(row));
  }
  for (const { declared } of lists) {
    for (const key of Object.keys(declared)) {
      if (!projected.has(key)) addEntry(key, declared[key] ?? "");
    }
  }
  return [...projected.values()];
}
