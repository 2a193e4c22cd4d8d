import { z } from "zod";

export const jsonTextField = (description: string) => z.string().describe(description);

export const jsonCountField = (description: string) => z.int().min(0).describe(description);

export const jsonTimeField = (description: string) => z.string().describe(`${description} (ISO 8601, UTC).`);

export const jsonArray = <Item extends z.ZodType>(item: Item, description?: string) =>
  describe(z.array(item).readonly(), description);

export const jsonObject = <Shape extends z.ZodRawShape>(shape: Shape, description?: string) =>
  describe(z.strictObject(shape).readonly(), description);

function describe<Schema extends z.ZodType>(schema: Schema, description: string | undefined): Schema {
  return description === undefined ? schema : schema.describe(description);
}
