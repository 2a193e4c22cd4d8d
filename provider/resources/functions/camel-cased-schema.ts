import { z } from "zod";
import { itemOf } from "../../client/fields";
import { type CamelCased, camelCase } from "./camel-case";

/** The schema of what `camelCased` makes of a row, field by field. */
export type CamelCasedSchema<Row extends z.ZodObject> = z.ZodObject<{
  [Name in keyof CamelCased<z.output<Row>>]: z.ZodType<CamelCased<z.output<Row>>[Name]>;
}>;

/**
 * The schema of a row of the service as functions answer it: with names as Pulumi programs write them, and what it is read
 * to in place of what the service may send. Titles and descriptions stay.
 */
export function camelCasedSchema<Row extends z.ZodObject>(row: Row): CamelCasedSchema<Row> {
  return renameObjectSchema(row) as unknown as CamelCasedSchema<Row>;
}

function renameObjectSchema(row: z.ZodObject): z.ZodObject {
  const fields = Object.entries(row.shape as Record<string, z.ZodType>);
  const shape = Object.fromEntries(fields.map(([name, field]) => [camelCase(name), renameFieldSchema(field)]));
  return z.object(shape).meta({ ...row.meta() });
}

function renameFieldSchema(field: z.ZodType): z.ZodType {
  const undefinedResult = field.safeParse(undefined);
  // One that is read as undefined may be missing from the answer; an array is there in any case.
  const isOptional = undefinedResult.success && undefinedResult.data === undefined;
  const describedSchema = renameSchema(field).meta({ ...field.meta() });
  return isOptional ? describedSchema.optional() : describedSchema;
}

function renameSchema(schema: unknown): z.ZodType {
  if (schema instanceof z.ZodPipe) return renameSchema(schema.def.in);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return renameSchema(schema.def.innerType);
  if (schema instanceof z.ZodArray) return z.array(renameSchema(itemOf(schema)));
  if (schema instanceof z.ZodObject) return renameObjectSchema(schema);
  return schema as z.ZodType;
}
