import { z } from "zod";

/** A count that may be missing or null; both are read as undefined. */
export const optionalCount = z
  .number()
  .int()
  .nonnegative()
  .nullish()
  .transform((count) => count ?? undefined);

/**
 * An array, checked up to its first wrong item. What holds a million wrong ones would otherwise be answered by a million
 * reasons, and they by the memory.
 */
export function arrayOf<T extends z.ZodType>(item: T) {
  return z.array(z.unknown()).transform((values, context) => {
    const items: z.output<T>[] = [];
    for (const [at, value] of values.entries()) {
      const read = item.safeParse(value);
      if (!read.success) {
        for (const { message, path } of read.error.issues) {
          context.addIssue({ code: "custom", message, path: [at, ...path] });
        }
        return z.NEVER;
      }
      items.push(read.data);
    }
    return items;
  });
}

/** The longest id that is read or sent, in characters. Message IDs, the longest ids there are, have at most 998. */
export const MAX_ID_LENGTH = 1_000;

/**
 * An id as the service gives it: opaque, and such that it can be sent back as it came. One that holds half a character,
 * or the mark of bytes that were no text (U+FFFD), would come back as the id of something else.
 */
export const id = z
  .string()
  .min(1)
  .max(MAX_ID_LENGTH)
  .refine((text) => text.isWellFormed() && !text.includes("\uFFFD"), { error: "not the text of an id" });
