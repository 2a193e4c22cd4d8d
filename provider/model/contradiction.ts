import { isOverlappingScope } from "./covering-values";
import { canonicalizeValue } from "./entry-value";

/** The fields of an entry that determine whether it contradicts another one. */
interface ListedValue {
  readonly list: string;
  readonly value: string;
  readonly verdictScope: string | undefined;
}

/**
 * Whether two entries contradict each other: the same value on different lists, in overlapping scopes. The types aren't compared: a value
 * implies its type, and a service may report another name for it.
 */
export function isContradiction(a: ListedValue, b: ListedValue): boolean {
  return (
    a.list !== b.list &&
    isOverlappingScope(a.verdictScope, b.verdictScope) &&
    canonicalizeValue(a.value) === canonicalizeValue(b.value)
  );
}
