import { toComparisonText } from "./text";

/*
 * Compares arguments in a diff, and with the service's rows. A value unknown during a preview passes through unchanged and differs from
 * everything.
 */

export function toComparable(value: unknown, canonical: (text: string) => string): unknown {
  return typeof value === "string" ? canonical(value) : value;
}

/** Returns a comment in the form used for comparison. An empty comment counts as missing. */
export function toComparableComment(comment: unknown): unknown {
  return toComparable(comment, toComparisonText) || undefined;
}

export function isSameComment(a: string | undefined, b: string | undefined): boolean {
  return a === b || toComparisonText(a) === toComparisonText(b);
}

/** Whether two texts of an encoded list are equivalent. White space in comments may differ. */
export function isSameListText(a: string, b: string): boolean {
  return a === b || toComparisonText(a) === toComparisonText(b);
}
