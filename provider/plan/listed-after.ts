import { type ListedEntry, readEntry, textOfEntry } from "../settings/keyed-list";
import type { BareChange } from "./alarm";
import type { Desired } from "./desired";
import type { Observed } from "./observed";

/** Projects the allow/deny list after the changes. */
export function listedAfter(desired: Desired, observed: Observed, changes: readonly BareChange[]): ListedEntry[] {
  const projected = new Map<string, ListedEntry>();
  const removedKeys = new Set(
    changes.filter(({ kind, sign }) => kind === "entry" && sign === "remove").map(({ key }) => key),
  );
  const addEntry = (key: string, text: string): boolean => {
    const entry = readEntry(key, text);
    if (entry !== undefined) projected.set(key, entry);
    return entry !== undefined;
  };
  const lists = desired.lists.filter(({ kind }) => kind === "entry");
  for (const [key, [row]] of observed.entries) {
    // The declaration wins over the row.
    const text = lists.findLast(({ declared }) => Object.hasOwn(declared, key))?.declared[key];
    if (text !== undefined && addEntry(key, text)) continue;
    if (row !== undefined && !removedKeys.has(key)) addEntry(key, textOfEntry(row));
  }
  for (const { declared } of lists) {
    for (const key of Object.keys(declared)) {
      if (!projected.has(key)) addEntry(key, declared[key] ?? "");
    }
  }
  return [...projected.values()];
}
