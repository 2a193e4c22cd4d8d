import { z } from "zod";

/** A count that may be missing or null; both are read as undefined. */
export const optionalCount = z
  .number()
  .int()
  .nonnegative()
  .nullish()
  .transform((count) => count ?? undefined);

/** The schema of the items of each {@link arrayOf}, which its own check hides. */
const items = new WeakMap<z.ZodArray, z.ZodType>();

/** The schema of the items of an array that is made by {@link arrayOf}. */
export function itemOf(array: z.ZodArray): z.ZodType | undefined {
  return items.get(array);
}

/**
 * An array, checked up to its first wrong item. What holds a million wrong ones would otherwise be answered by a million
 * reasons, and they by the memory.
 */
export function arrayOf<T extends z.ZodType>(item: T) {
  const array = z.array(z.unknown());
  items.set(array, item);
  return array.transform((values, context) => {
    const read: z.output<T>[] = [];
    for (const [at, value] of values.entries()) {
      const one = item.safeParse(value);
      if (!one.success) {
        for (const { message, path } of one.error.issues) {
          context.addIssue({ code: "custom", message, path: [at, ...path] });
        }
        return z.NEVER;
      }
      read.push(one.data);
    }
    return read;
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
