import { z } from "zod";
import { getItemSchema } from "../../client/schema-fields";
import { type CamelCased, toCamelCase } from "./camel-case";

/** The schema of a row after `camelCaseKeys`, field by field. */
export type CamelCaseSchema<Row extends z.ZodObject> = z.ZodObject<{
  [Name in keyof CamelCased<z.output<Row>>]: z.ZodType<CamelCased<z.output<Row>>[Name]>;
}>;

/**
 * Returns the schema of a row as functions return it: with names as in Pulumi programs, and the parsed values instead
 * of those that the service may send. Keeps titles and descriptions.
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
  // A field that may be parsed to undefined is optional in the result; an array is always present.
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
