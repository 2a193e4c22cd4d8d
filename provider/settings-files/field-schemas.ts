import { z } from "zod";
import { isMeaningfulText, validateComment } from "../model/arguments";
import { isPrintable, quote } from "../model/text";

/* Building blocks of file schemas, with their error messages. */

/** A text schema; the error says what to write. */
export const textField = (expected: string) => z.string({ error: (issue) => formatFieldError(issue.input, expected) });

/** A text that is safe to show in terminals and pipelines. */
export const safeTextField = (expected: string) =>
  textField(expected).check((context) => {
    const message = validateComment(context.value);
    if (message !== undefined) context.issues.push({ code: "custom", message, input: context.value });
  });

/** The error message for a text without content. */
export const EMPTY_TEXT_ERROR = "has no content; add some, or remove the line";

/** A safe text with content. */
export const nonEmptyTextField = (expected: string) =>
  safeTextField(expected).refine(isMeaningfulText, EMPTY_TEXT_ERROR);

/** A safe text with content, on one line. */
export const singleLineTextField = (expected: string) =>
  nonEmptyTextField(expected)
    .refine((text) => isPrintable(text) && text.length <= 200, "must be one line of at most 200 characters")
    .refine((text) => text === text.trim(), "has leading or trailing white space");

/** A non-negative integer. */
export const integerField = (expected = "a whole number") =>
  z
    .number({ error: (issue) => formatFieldError(issue.input, expected) })
    .int({ error: (issue) => `must be ${expected}, not ${quote(issue.input)}` })
    .min(0, { error: (issue) => `is ${quote(issue.input)}; it must be 0 or more` });

export const booleanField = z.boolean({ error: (issue) => formatFieldError(issue.input, "true or false") });

/** Formats the error for a missing, empty or wrong value. */
export function formatFieldError(input: unknown, expected: string): string {
  if (input === undefined) return `is missing; write ${expected}`;
  return input === null
    ? `is empty; write ${expected}, or remove the line`
    : `must be ${expected}, not ${quote(input)}`;
}

/** Formats the error for a missing, empty or wrong mapping. */
export function formatMappingError(input: unknown): string {
  return formatFieldError(input, "a mapping of keys and values");
}

export function formatChoices(values: readonly string[]): string {
  return values.length < 3 ? values.join(" or ") : `one of ${values.join(", ")}`;
}
