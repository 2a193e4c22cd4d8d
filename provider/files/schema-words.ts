import { z } from "zod";
import { commentRefusal, isReason } from "../settings/arguments";
import { isPrintable, quote } from "../settings/text";

/* What schemas of files are made of, and the words in which they refuse. */

/** A text, or what to write for one. */
export const plainText = (wanted: string) => z.string({ error: (issue) => missingOr(issue.input, wanted) });

/** A text that people read: nothing in it does anything in a terminal or a pipeline. */
export const harmlessText = (wanted: string) =>
  plainText(wanted).check((context) => {
    const message = commentRefusal(context.value);
    if (message !== undefined) context.issues.push({ code: "custom", message, input: context.value });
  });

/** What is told of a text without a word. */
export const SAYS_NOTHING = "says nothing; write it, or take the line away";

/** The same, which says something. */
export const shownText = (wanted: string) => harmlessText(wanted).refine(isReason, SAYS_NOTHING);

/** The same, on one line. */
export const shortText = (wanted: string) =>
  shownText(wanted)
    .refine((text) => isPrintable(text) && text.length <= 200, "must be one line of at most 200 characters")
    .refine((text) => text === text.trim(), "has white space around it");

/** A count that is not negative. */
export const wholeNumber = (wanted = "a whole number") =>
  z
    .number({ error: (issue) => missingOr(issue.input, wanted) })
    .int({ error: (issue) => `must be ${wanted}, not ${quote(issue.input)}` })
    .min(0, { error: (issue) => `is ${quote(issue.input)}; it can't be less than 0` });

/** Yes or no. */
export const flag = z.boolean({ error: (issue) => missingOr(issue.input, "true or false") });

/** What is wrong with something that is not there, is empty, or is something else than what is wanted. */
export function missingOr(input: unknown, wanted: string): string {
  if (input === undefined) return `is missing; write ${wanted}`;
  return input === null
    ? `is empty; write ${wanted}, or take the line away`
    : `must be ${wanted}, not ${quote(input)}`;
}

/** The same of a mapping. */
export function mapping(input: unknown): string {
  return missingOr(input, "a mapping of keys and values");
}

/** Words of which one is to be chosen. */
export function oneOf(values: readonly string[]): string {
  return values.length < 3 ? values.join(" or ") : `one of ${values.join(", ")}`;
}
