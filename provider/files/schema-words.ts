import { z } from "zod";
import { commentRefusal, isReason } from "../settings/arguments";
import { isPrintable, quote } from "../settings/text";

/* Building blocks of file schemas, with their error messages. */

/** A text schema; the error says what to write. */
export const plainText = (expected: string) => z.string({ error: (issue) => missingOr(issue.input, expected) });

/** A text that is safe to show in terminals and pipelines. */
export const harmlessText = (expected: string) =>
  plainText(expected).check((context) => {
    const message = commentRefusal(context.value);
    if (message !== undefined) context.issues.push({ code: "custom", message, input: context.value });
  });

/** The error message for a text without content. */
export const SAYS_NOTHING = "says nothing; write it, or take the line away";

/** A safe text with content. */
export const shownText = (expected: string) => harmlessText(expected).refine(isReason, SAYS_NOTHING);

/** A safe text with content, on one line. */
export const shortText = (expected: string) =>
  shownText(expected)
    .refine((text) => isPrintable(text) && text.length <= 200, "must be one line of at most 200 characters")
    .refine((text) => text === text.trim(), "has white space around it");

/** A non-negative integer. */
export const wholeNumber = (expected = "a whole number") =>
  z
    .number({ error: (issue) => missingOr(issue.input, expected) })
    .int({ error: (issue) => `must be ${expected}, not ${quote(issue.input)}` })
    .min(0, { error: (issue) => `is ${quote(issue.input)}; it can't be less than 0` });

export const flag = z.boolean({ error: (issue) => missingOr(issue.input, "true or false") });

/** Formats the error for a missing, empty or wrong value. */
export function missingOr(input: unknown, expected: string): string {
  if (input === undefined) return `is missing; write ${expected}`;
  return input === null
    ? `is empty; write ${expected}, or take the line away`
    : `must be ${expected}, not ${quote(input)}`;
}

/** Formats the error for a missing, empty or wrong mapping. */
export function mapping(input: unknown): string {
  return missingOr(input, "a mapping of keys and values");
}

/** Lists the valid values. */
export function oneOf(values: readonly string[]): string {
  return values.length < 3 ? values.join(" or ") : `one of ${values.join(", ")}`;
}
