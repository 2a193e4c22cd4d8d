import { z } from "zod";

/** A count that may be missing or null; both are read as undefined. */
export const optionalCount = z
  .number()
  .int()
  .nonnegative()
  .nullish()
  .transform((count) => count ?? undefined);

/** The schema of the items of each {@link arrayOf}, which its own check hides. */
const itemSchemas = new WeakMap<z.ZodArray, z.ZodType>();

/** The schema of the items of an array that is made by {@link arrayOf}. */
export function itemOf(array: z.ZodArray): z.ZodType | undefined {
  return itemSchemas.get(array);
}

/** The longest id that is read or sent, in characters. Message IDs, the longest ids there are, have at most 998. */
export const MAX_ID_LENGTH = 1_000;

/**
 * An id as the service gives it: opaque, and such that it can be sent back as it came. One that holds half a character,
 * or the mark of bytes that were no text (U+FFFD), would come back as the id of something else.
 */
export const id = z.string().min(1).max(MAX_ID_LENGTH).refine(isIdText, { error: "not the text of an id" });

function isIdText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\uFFFD");
}

function isId(text: string): boolean {
  return text !== "" && text.length <= MAX_ID_LENGTH && isIdText(text);
}

/** What a field of a row of texts must be; a `mailbox` may be missing, and one of nothing but white space is none. */
type TextField = "id" | "text" | "optional" | "mailbox";

const fastReaders = new WeakMap<z.ZodType, (value: unknown) => unknown>();

/**
 * Has well-formed rows, in an {@link arrayOf} them, read by hand: a list of thousands is read many times a run, and its schema
 * takes ten times as long. Whatever is odd about a row is left to the schema.
 *
 * @param fields all that the schema has, in its order.
 */
export function readQuickly<T extends z.ZodObject>(
  schema: T,
  fields: Readonly<Record<keyof T["shape"] & string, TextField>>,
): void {
  const fieldEntries = Object.entries<TextField>(fields);
  fastReaders.set(schema, (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const row: Record<string, string | undefined> = {};
    for (const [name, field] of fieldEntries) {
      const text: unknown = (value as Record<string, unknown>)[name];
      if (typeof text === "string") {
        if (field === "id" && !isId(text)) return undefined;
        if (field === "mailbox" && text.trim() === "") return undefined;
        row[name] = text;
      } else if (field === "id" || field === "text" || (text !== undefined && text !== null)) {
        return undefined;
      } else if (name in value) {
        row[name] = undefined;
      }
    }
    return row;
  });
}

/**
 * An array, checked up to its first wrong item. What holds a million wrong ones would otherwise be answered by a million
 * reasons, and they by the memory.
 */
export function arrayOf<T extends z.ZodType>(item: T) {
  const array = z.array(z.unknown());
  itemSchemas.set(array, item);
  return array.transform((values, context) => {
    const rows: z.output<T>[] = [];
    const readFast = fastReaders.get(item) as ((value: unknown) => z.output<T> | undefined) | undefined;
    for (const [index, value] of values.entries()) {
      const row = readFast?.(value);
      if (row !== undefined) {
        rows.push(row);
        continue;
      }
      const result = item.safeParse(value);
      if (!result.success) {
        for (const { message, path } of result.error.issues) {
          context.addIssue({ code: "custom", message, path: [index, ...path] });
        }
        return z.NEVER;
      }
      rows.push(result.data);
    }
    return rows;
  });
}
