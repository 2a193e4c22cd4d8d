import { z } from "zod";

/** A count that may be missing or null; both become undefined. */
export const optionalCountSchema = z
  .number()
  .int()
  .nonnegative()
  .nullish()
  .transform((count) => count ?? undefined);

/** The schema of the items of each {@link buildArraySchema}, which its own check hides. */
const itemSchemas = new WeakMap<z.ZodArray, z.ZodType>();

/** Returns the item schema of an array made by {@link buildArraySchema}. */
export function getItemSchema(array: z.ZodArray): z.ZodType | undefined {
  return itemSchemas.get(array);
}

/** The maximum length of an id, in characters. The longest are message IDs, with at most 998. */
export const MAX_ID_LENGTH = 1_000;

/**
 * An opaque id from the service that can be sent back unchanged. Half a surrogate pair or U+FFFD is rejected, because it would
 * be sent back as a different id.
 */
export const idSchema = z.string().min(1).max(MAX_ID_LENGTH).refine(isIdText, { error: "not a valid id" });

function isIdText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\uFFFD");
}

function isId(text: string): boolean {
  return text !== "" && text.length <= MAX_ID_LENGTH && isIdText(text);
}

/** The type of a text field; a `mailbox` is optional, and a blank one counts as missing. */
type TextField = "id" | "text" | "optional" | "mailbox";

const fastReaders = new WeakMap<z.ZodType, (value: unknown) => unknown>();

/**
 * Parses well-formed rows, alone or in an {@link buildArraySchema}, without the schema. A list of thousands is read many times per run,
 * and its schema takes ten times as long. Anything unusual falls back to the schema.
 *
 * @param fields all fields of the schema, in its order.
 */
export function registerFastReader<T extends z.ZodObject>(
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
 * Builds the schema of an array that is validated up to its first invalid item. A million invalid items would otherwise
 * produce a million issues and exhaust the memory.
 */
export function buildArraySchema<T extends z.ZodType>(item: T) {
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
