import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import {
  type EncodedList,
  encodeEntry,
  encodeEntryKey,
  encodeVip,
  isUnmanaged,
  markUnmanaged,
} from "../model/encoded-list";
import { canPruneAny } from "../model/list-mode";
import { createPruneFilter } from "../model/list-protection";
import { matchChangedScopes } from "../resources/lifecycle/changed-scopes";
import { EntryMatch, type KeyedRows } from "../resources/lifecycle/entry-match";
import { type DesiredList, getListKind } from "./desired-state";

export interface PriorList<Row> {
  readonly content: EncodedList;
  readonly rows: ReadonlyMap<string, Row>;
  /** Rows that the list prunes only after a refresh has shown them. */
  readonly laterRemovals: readonly Row[];
  /** The keys in the state, and the present keys, of entries whose scope somebody changed at the tenant. */
  readonly changedScopeKeys: ReadonlySet<string>;
}

/** Returns the content of the list's state after a refresh, which a run is based on, with its rows. */
export function buildPriorEntries(list: DesiredList, keyed: KeyedRows): PriorList<AllowDenyEntryRow> {
  const lastKnown = list.stackContent ?? {};
  const match = new EntryMatch(lastKnown, keyed);
  const changedScopes = matchChangedScopes(match, lastKnown).changes;
  const rows = new Map<string, AllowDenyEntryRow>();
  const content: Record<string, string> = {};
  const isPruned = createPruneFilter(getListKind(list), list.lastOptions ?? list.options);
  for (const [key, row] of match.matches) {
    const text = encodeEntry(row);
    const isUnmanagedRow = isUnmanaged(lastKnown[key] ?? "");
    // The entry moved to a list that isn't pruned.
    if (isUnmanagedRow && !isPruned(key, text)) continue;
    content[key] = isUnmanagedRow ? markUnmanaged(text) : text;
    rows.set(key, row);
  }
  const { shown, later: laterRemovals } = splitUnmanaged(list, () => match.getUnmatched(), encodeEntry);
  for (const [key, row] of shown) {
    content[key] = markUnmanaged(encodeEntry(row));
    rows.set(key, row);
  }
  const changedScopeKeys = new Set(changedScopes.flatMap(({ entry, key }) => [encodeEntryKey(entry), key]));
  return { content, rows, laterRemovals, changedScopeKeys };
}

export function buildPriorVips(
  list: DesiredList,
  observed: ReadonlyMap<string, VipEmployeeRow>,
): PriorList<VipEmployeeRow> {
  const lastKnown = list.stackContent ?? {};
  const rows = new Map<string, VipEmployeeRow>();
  const content: Record<string, string> = {};
  const others = new Map<string, VipEmployeeRow>();
  for (const [key, row] of observed) {
    if (!Object.hasOwn(lastKnown, key)) {
      others.set(key, row);
      continue;
    }
    content[key] = isUnmanaged(lastKnown[key] ?? "") ? markUnmanaged(encodeVip(row)) : encodeVip(row);
    rows.set(key, row);
  }
  const { shown, later: laterRemovals } = splitUnmanaged(list, () => others, encodeVip);
  for (const [key, row] of shown) {
    content[key] = markUnmanaged(encodeVip(row));
    rows.set(key, row);
  }
  return { content, rows, laterRemovals, changedScopeKeys: new Set() };
}

/** Returns the undeclared rows that a list prunes, and therefore manages, from its second run on. */
function splitUnmanaged<Row extends AllowDenyEntryRow | VipEmployeeRow>(
  list: DesiredList,
  getOthers: () => ReadonlyMap<string, Row>,
  getText: (row: Row) => string,
): { readonly shown: readonly (readonly [key: string, row: Row])[]; readonly later: readonly Row[] } {
  const getPruned = (options: DesiredList["options"]): [key: string, row: Row][] => {
    if (!canPruneAny(options["mode"])) return [];
    const isPruned = createPruneFilter(getListKind(list), options);
    return [...getOthers()].filter(([key, row]) => isPruned(key, getText(row)));
  };
  // A run removes only rows that a refresh has shown, and a refresh uses the options in the state.
  const visibleRows = list.isNew ? [] : getPruned(list.lastOptions ?? list.options);
  const visibleKeys = new Set(visibleRows.map(([key]) => key));
  const laterRemovals = getPruned(list.options).flatMap(([key, row]) => (visibleKeys.has(key) ? [] : [row]));
  return { shown: visibleRows, later: laterRemovals };
}
