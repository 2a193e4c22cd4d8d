import type { RawArguments } from "../../model/arguments";
import { isSameListText } from "../../model/compare-arguments";
import { type EncodedList, isUnmanaged, markUnmanaged } from "../../model/encoded-list";
import type { ListKind } from "../../model/list-arguments";
import { createPruneFilter } from "../../model/list-protection";
import { formatKeyPath } from "../../model/property-path";
import { UNKNOWN } from "../../model/unknown-value";
import type { PropertyChange } from "./lifecycle";
import type { ListInputs, ListPlan } from "./list-resource";

/** Returns the removals with the actual text of each item that the tenant still has. */
export function replaceWithActualTexts(removed: ListPlan["removals"], actual: EncodedList): ListPlan["removals"] {
  return removed.map(([key, text]) => [key, actual[key] ?? text]);
}

export function buildContentChanges(kind: ListKind, before: EncodedList, after: EncodedList): PropertyChange[] {
  if (isSameContent(before, after)) return [];
  const changes: PropertyChange[] = [];
  const addChange = (key: string, change: PropertyChange["kind"]): void => {
    changes.push({ property: formatKeyPath(kind.property, key), kind: change, replace: false });
  };
  for (const [key, text] of Object.entries(after)) {
    if (!Object.hasOwn(before, key)) addChange(key, "add");
    else if (!isSameListText(before[key] ?? "", text)) addChange(key, "update");
  }
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) addChange(key, "delete");
  }
  return changes;
}

/** Whether two contents in key order are equal. Most are, which saves thousands of lookups. */
function isSameContent(before: EncodedList, after: EncodedList): boolean {
  const keys = Object.keys(before);
  const otherKeys = Object.keys(after);
  return (
    keys.length === otherKeys.length &&
    keys.every((key, index) => key === otherKeys[index] && before[key] === after[key])
  );
}

export function isContentKnown(inputs: unknown, kind: ListKind): boolean {
  return (inputs as RawArguments)[kind.property] !== UNKNOWN;
}

/**
 * Returns the known content plus what the list prunes. Omits an entry that has moved to a list that isn't pruned,
 * because the run would not remove it.
 */
export function addPrunable(kind: ListKind, known: EncodedList, others: EncodedList, inputs: ListInputs): EncodedList {
  const isPruned = createPruneFilter(kind, inputs);
  const keptEntries = Object.entries(known).filter(([key, text]) => !isUnmanaged(text) || isPruned(key, text));
  const unmanaged = Object.entries(filterPrunable(kind, others, inputs)).map(([key, text]) => [
    key,
    markUnmanaged(text),
  ]);
  return Object.fromEntries([...keptEntries, ...unmanaged]);
}

export function filterPrunable(kind: ListKind, encodedList: EncodedList, inputs: ListInputs): EncodedList {
  const isPruned = createPruneFilter(kind, inputs);
  return Object.fromEntries(Object.entries(encodedList).filter(([key, text]) => isPruned(key, text)));
}
