import { comparisonText } from "./text";

/*
 * Compares arguments in a diff, and with the service's rows. A value unknown during a preview passes through unchanged and differs from
 * everything.
 */

export function comparable(value: unknown, canonical: (text: string) => string): unknown {
  return typeof value === "string" ? canonical(value) : value;
}

/** Returns a comment in the form used for comparison. An empty comment counts as missing. */
export function comparableComment(comment: unknown): unknown {
  return comparable(comment, comparisonText) || undefined;
}

export function sameComment(one: string | undefined, other: string | undefined): boolean {
  return one === other || comparisonText(one) === comparisonText(other);
}

/** Whether two texts of a keyed list are equivalent. White space in comments may differ. */
export function sameListText(one: string, other: string): boolean {
  return one === other || comparisonText(one) === comparisonText(other);
}
