import { z } from "zod";
import { getItemSchema } from "../../client/fields";
import { type CamelCased, toCamelCase } from "./camel-case";

/** The schema of what `camelCaseKeys` makes of a row, field by field. */
export type CamelCaseSchema<Row extends z.ZodObject> = z.ZodObject<{
  [Name in keyof CamelCased<z.output<Row>>]: z.ZodType<CamelCased<z.output<Row>>[Name]>;
}>;

/**
 * The schema of a row of the service as functions answer it: with names as Pulumi programs write them, and what it is read
 * to in place of what the service may send. Titles and descriptions stay.
 */
export function buildCamelCaseSchema<Row extends z.ZodObject>(row: Row): CamelCaseSchema<Row> {
  return renameObjectSchema(row) as unknown as CamelCaseSchema<Row>;
}

function renameObjectSchema(row: z.ZodObject): z.ZodObject {
  const fields = Object.entries(row.shape as Record<string, z.ZodType>);
  const shape = Object.fromEntries(fields.map(([name, field]) => [toCamelCase(name), renameFieldSchema(field)]));
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
  if (schema instanceof z.ZodArray) return z.array(renameSchema(getItemSchema(schema)));
  if (schema instanceof z.ZodObject) return renameObjectSchema(schema);
  return schema as z.ZodType;
}
