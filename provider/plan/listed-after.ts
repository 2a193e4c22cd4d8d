import { type ListedEntry, readEntry, textOfEntry } from "../settings/keyed-list";
import type { BareChange } from "./alarm";
import type { Desired } from "./desired";
import type { Observed } from "./observed";

/** The allow/deny list as it would be, after changes. */
export function listedAfter(
  desired: Desired,
  observed: Observed,
  changes: readonly BareChange[],
): ListedEntry[] {
  const listed = new Map<string, ListedEntry>();
  const gone = new Set(
    changes.filter(({ kind, sign }) => kind === "entry" && sign === "remove").map(({ key }) => key),
  );
  const take = (key: string, text: string): boolean => {
    const entry = readEntry(key, text);
    if (entry !== undefined) listed.set(key, entry);
    return entry !== undefined;
  };
  const lists = desired.lists.filter(({ kind }) => kind === "entry");
  for (const [key, [row]] of observed.entries) {
    // As it is declared, where it is.
    const text = lists.findLast(({ declared }) => Object.hasOwn(declared, key))?.declared[key];
    if (text !== undefined && take(key, text)) continue;
    if (row !== undefined && !gone.has(key)) take(key, textOfEntry(row));
  }
  for (const { declared } of lists) {
    for (const key of Object.keys(declared)) {
      if (!listed.has(key)) take(key, declared[key] ?? "");
    }
  }
  return [...listed.values()];
}
