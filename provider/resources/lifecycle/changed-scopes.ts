import type { AllowDenyEntryRow } from "../../client";
import { isSameListText } from "../../model/compare-arguments";
import { decodeEntry, type EncodedList, isUnmanaged, type ListedEntry } from "../../model/encoded-list";
import { sanitizeLine } from "../../model/text";
import { getRowNaturalKey } from "../../tenant";
import { encodeRow, getNaturalKey } from "./decode-entries";
import type { EntryMatch } from "./entry-match";
import { describeExistingEntry } from "./errors";

/*
 * The scope of an entry is part of its key in a list. If somebody changes the scope of a row at the service, no row has
 * the known key any more. The list must keep managing the row.
 */

export interface ChangedScope {
  /** The entry in the state. */
  readonly entry: ListedEntry;
  /** The row's present key and text. */
  readonly key: string;
  readonly text: string;
  readonly row: AllowDenyEntryRow;
}

/** Known entries of a value without a row, and several rows that could each be one of them. */
interface AmbiguousScopes {
  readonly entries: readonly ListedEntry[];
  readonly rows: readonly AllowDenyEntryRow[];
}

/**
 * Finds the rows that known entries without a row have become: unmatched rows with the same value on the same list.
 * Assigns their present keys to them.
 *
 * @param isClaimed returns whether a row belongs to another resource.
 */
export function matchChangedScopes(
  match: EntryMatch,
  known: EncodedList,
  isClaimed: (row: AllowDenyEntryRow) => boolean = () => false,
): { readonly changes: readonly ChangedScope[]; readonly ambiguous: readonly AmbiguousScopes[] } {
  const missing = match.missingKeys.flatMap((key) => {
    const text = known[key] ?? "";
    const entry = match.matches.has(key) || isUnmanaged(text) ? undefined : decodeEntry(key, text);
    return entry === undefined ? [] : [{ entry, text }];
  });
  const changes: ChangedScope[] = [];
  const ambiguous: AmbiguousScopes[] = [];
  if (missing.length === 0) return { changes, ambiguous };
  const rowsByEntry = Map.groupBy(
    [...match.getUnmatched()].filter(([, row]) => !isClaimed(row)),
    ([, row]) => `${row.list} ${getRowNaturalKey(row)}`,
  );
  const missingByEntry = Map.groupBy(missing, ({ entry }) => `${entry.list} ${getNaturalKey(entry)}`);
  for (const [entryKey, missingOfEntry] of missingByEntry) {
    const remaining = new Map(rowsByEntry.get(entryKey));
    const assign = (entry: ListedEntry, [key, row]: readonly [string, AllowDenyEntryRow]): void => {
      remaining.delete(key);
      match.assign(key, row);
      changes.push({ entry, key, text: encodeRow(row, entry), row });
    };
    const unresolved = missingOfEntry.filter(({ entry, text }) => {
      const equal = [...remaining].filter(([, row]) => isSameListText(encodeRow(row, entry), text));
      const [only] = equal;
      if (only === undefined || equal.length > 1) return true;
      assign(entry, only);
      return false;
    });
    if (remaining.size > unresolved.length) {
      const entries = unresolved.map(({ entry }) => entry);
      if (entries.length > 0) ambiguous.push({ entries, rows: [...remaining.values()] });
      continue;
    }
    for (const { entry } of unresolved) {
      const [next] = remaining;
      if (next !== undefined) assign(entry, next);
    }
  }
  return { changes, ambiguous };
}

/** Reports changed scopes, and the rows of which it isn't known whether they are the list's. */
export function logChangedScopes(
  { changes, ambiguous }: ReturnType<typeof matchChangedScopes>,
  { log }: { readonly log: (sentence: string) => void },
): void {
  for (const { entry, row } of changes) {
    log(
      `Somebody changed the scope of ${describeEntry(entry)}: it is now ${describeExistingEntry(row)}. A run that still declares it changes it back; a run that doesn't removes it.`,
    );
  }
  for (const { entries, rows } of ambiguous) {
    log(
      `The tenant no longer has ${entries.map(describeEntry).join(" or ")}, but has ${rows.map(describeExistingEntry).join(" | ")}. If somebody changed its scope, this list can't determine which of these it is, and manages none of them from now on. Remove the unintended ones in the console.`,
    );
  }
}

function describeEntry({ list, value, verdictScope }: ListedEntry): string {
  return `${sanitizeLine(value)} on the ${list} list (scope ${sanitizeLine(verdictScope)})`;
}
