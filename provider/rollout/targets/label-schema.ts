import { z } from "zod";
import { isPrintable, quote } from "../../model/text";
import { buildMappingError, buildTextSchema, formatExpectation } from "./value-schemas";

const LABEL_PATTERN = /^(?!__proto__$)[A-Za-z0-9_./-]{1,100}$/;

const labelKeySchema = buildTextSchema("a label").regex(
  LABEL_PATTERN,
  "isn't a valid label; write 1 to 100 of the letters A to Z, a to z, digits, hyphens, underscores, dots and slashes",
);

/** The values that `--label ring=canary,beta` can name. */
const LABEL_VALUE_PATTERN = /^[^\s,](?:[^,]{0,198}[^\s,])?$/u;

const labelValueSchema = buildTextSchema("a string")
  .regex(LABEL_VALUE_PATTERN, {
    error: ({ input }) => `is ${quote(input)}; write 1 to 200 characters without commas or surrounding white space`,
  })
  .refine(isPrintable, "contains an invisible character; remove it");

export const labelsSchema = z
  .record(labelKeySchema, labelValueSchema, buildMappingError("labels and their values, such as { region: eu }"))
  .describe("Labels that distinguish tenants, for waves and for --label: { region: eu, ring: canary }.");

export const matchSchema = z
  .record(
    labelKeySchema,
    z.union(
      [
        labelValueSchema,
        z
          .array(labelValueSchema, {
            error: ({ input }) =>
              formatExpectation(input, "a string (in quotes if it is a number), or a list of strings"),
          })
          .min(1, "is an empty list, which nothing matches; write a value"),
      ],
      {
        error: ({ input }) => formatExpectation(input, "a string (in quotes if it is a number), or a list of strings"),
      },
    ),
    buildMappingError("labels and their values, such as { ring: canary }"),
  )
  .describe("Labels that a tenant must have, each with one of the given values. Default: all remaining tenants.");
