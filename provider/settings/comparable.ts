import { comparisonText } from "./text";

/*
 * How arguments are compared, in a diff and with what the service holds. What a preview does not know yet is no text,
 * and passes as it is: it differs from everything.
 */

/** A text in the form in which it is compared. */
export function comparable(value: unknown, canonical: (text: string) => string): unknown {
  return typeof value === "string" ? canonical(value) : value;
}

/** A comment in the form in which it is compared; an empty one is none. */
export function comparableComment(comment: unknown): unknown {
  return comparable(comment, comparisonText) || undefined;
}

export function sameComment(one: string | undefined, other: string | undefined): boolean {
  return one === other || comparisonText(one) === comparisonText(other);
}

/** Whether two texts of a keyed list say the same: their comments may differ in white space. */
export function sameListText(one: string, other: string): boolean {
  return one === other || comparisonText(one) === comparisonText(other);
}
