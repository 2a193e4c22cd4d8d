import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { EntryMatch, type KeyedRows } from "../resources/lifecycle/entry-match";
import { asUnmanaged, isUnmanaged, type KeyedList, textOfEntry, textOfVip } from "../settings/keyed-list";
import { prunesAny } from "../settings/list-mode";
import { pruning } from "../settings/list-safeguards";
import { type DesiredList, kindOf } from "./desired";

/** The content of a list before a run, with its rows. */
export interface PriorList<Row> {
  readonly content: KeyedList;
  readonly rows: ReadonlyMap<string, Row>;
  /** Rows that the list prunes only after a refresh has shown them. */
  readonly later: readonly Row[];
}

/** Returns the content of the list's state after a refresh, which a run is based on, with its rows. */
export function priorEntries(list: DesiredList, keyed: KeyedRows): PriorList<AllowDenyEntryRow> {
  const lastKnown = list.known ?? {};
  const match = new EntryMatch(lastKnown, keyed);
  const rows = new Map<string, AllowDenyEntryRow>();
  const content: Record<string, string> = {};
  const isPruned = pruning(kindOf(list), list.optionsBefore ?? list.options);
  for (const [key, row] of match.found) {
    const text = textOfEntry(row);
    const isUnmanagedRow = isUnmanaged(lastKnown[key] ?? "");
    // The entry moved to a list that isn't pruned.
    if (isUnmanagedRow && !isPruned(key, text)) continue;
    content[key] = isUnmanagedRow ? asUnmanaged(text) : text;
    rows.set(key, row);
  }
  const { shown, later } = splitUnmanaged(list, () => match.others(), textOfEntry);
  for (const [key, row] of shown) {
    content[key] = asUnmanaged(textOfEntry(row));
    rows.set(key, row);
  }
  return { content, rows, later };
}

export function priorVips(list: DesiredList, observed: ReadonlyMap<string, VipEmployeeRow>): PriorList<VipEmployeeRow> {
  const lastKnown = list.known ?? {};
  const rows = new Map<string, VipEmployeeRow>();
  const content: Record<string, string> = {};
  const others = new Map<string, VipEmployeeRow>();
  for (const [key, row] of observed) {
    if (!Object.hasOwn(lastKnown, key)) {
      others.set(key, row);
      continue;
    }
    content[key] = isUnmanaged(lastKnown[key] ?? "") ? asUnmanaged(textOfVip(row)) : textOfVip(row);
    rows.set(key, row);
  }
  const { shown, later } = splitUnmanaged(list, () => others, textOfVip);
  for (const [key, row] of shown) {
    content[key] = asUnmanaged(textOfVip(row));
    rows.set(key, row);
  }
  return { content, rows, later };
}

/** Returns the undeclared rows that a list prunes, and therefore manages, from its second run on. */
function splitUnmanaged<Row extends AllowDenyEntryRow | VipEmployeeRow>(
  list: DesiredList,
  getOthers: () => ReadonlyMap<string, Row>,
  getText: (row: Row) => string,
): { readonly shown: readonly (readonly [key: string, row: Row])[]; readonly later: readonly Row[] } {
  const getPruned = (options: DesiredList["options"]): [key: string, row: Row][] => {
    if (!prunesAny(options["mode"])) return [];
    const isPruned = pruning(kindOf(list), options);
    return [...getOthers()].filter(([key, row]) => isPruned(key, getText(row)));
  };
  // A run removes only what a refresh has shown, and a refresh uses the options in the state.
  const visibleRows = list.isNew ? [] : getPruned(list.optionsBefore ?? list.options);
  const visibleKeys = new Set(visibleRows.map(([key]) => key));
  const laterRemovals = getPruned(list.options).flatMap(([key, row]) => (visibleKeys.has(key) ? [] : [row]));
  return { shown: visibleRows, later: laterRemovals };
}
