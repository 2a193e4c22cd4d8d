import type { RawArguments } from "../../settings/arguments";
import { sameListText } from "../../settings/comparable";
import { asUnmanaged, isUnmanaged, type KeyedList } from "../../settings/keyed-list";
import type { ListKind } from "../../settings/list-arguments";
import { pruning } from "../../settings/list-safeguards";
import { keyPath } from "../../settings/property-path";
import { UNKNOWN } from "../../settings/unknown";
import type { Change } from "./lifecycle";
import type { ListInputs, ListPlan } from "./list-resource";

/** What goes, as it is at the tenant where it is there. */
export function fromThere(removed: ListPlan["removed"], actual: KeyedList): ListPlan["removed"] {
  return removed.map(([key, text]) => [key, actual[key] ?? text]);
}

/** Returns the changes of a list's content, key by key. */
export function contentChanges(kind: ListKind, before: KeyedList, after: KeyedList): Change[] {
  if (isSameContent(before, after)) return [];
  const changes: Change[] = [];
  const addChange = (key: string, change: Change["kind"]): void => {
    changes.push({ property: keyPath(kind.property, key), kind: change, replace: false });
  };
  for (const [key, text] of Object.entries(after)) {
    if (!Object.hasOwn(before, key)) addChange(key, "add");
    else if (!sameListText(before[key] ?? "", text)) addChange(key, "update");
  }
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) addChange(key, "delete");
  }
  return changes;
}

/** Whether two contents in key order are equal. Most are, which saves thousands of lookups. */
function isSameContent(before: KeyedList, after: KeyedList): boolean {
  const keys = Object.keys(before);
  const otherKeys = Object.keys(after);
  return (
    keys.length === otherKeys.length &&
    keys.every((key, index) => key === otherKeys[index] && before[key] === after[key])
  );
}

/** Whether the content is known; in a preview it may not be. */
export function isKnown(inputs: unknown, kind: ListKind): boolean {
  return (inputs as RawArguments)[kind.property] !== UNKNOWN;
}

/**
 * Returns the known content with what the list prunes. Leaves out an entry that has moved to a list that isn't pruned: the run
 * would not remove it.
 */
export function withShown(kind: ListKind, known: KeyedList, others: KeyedList, inputs: ListInputs): KeyedList {
  const isPruned = pruning(kind, inputs);
  const keptEntries = Object.entries(known).filter(([key, text]) => !isUnmanaged(text) || isPruned(key, text));
  const unmanaged = Object.entries(prunable(kind, others, inputs)).map(([key, text]) => [key, asUnmanaged(text)]);
  return Object.fromEntries([...keptEntries, ...unmanaged]);
}

export function prunable(kind: ListKind, encodedList: KeyedList, inputs: ListInputs): KeyedList {
  const isPruned = pruning(kind, inputs);
  return Object.fromEntries(Object.entries(encodedList).filter(([key, text]) => isPruned(key, text)));
}
