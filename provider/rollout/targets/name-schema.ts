import { quote } from "../../model/text";
import { buildTextSchema } from "./value-schemas";

const NAME_PATTERN = /^[A-Za-z0-9_.-]{1,100}$/;

/** Names that Pulumi's file backend or JavaScript can't use. */
const RESERVED_NAMES = new Set([".", "..", "__proto__"]);

/** Explains why a text isn't a valid name for a tenant, a stack or a wave. Undefined if it is. */
export function validateName(text: string): string | undefined {
  if (RESERVED_NAMES.has(text)) return "is a reserved name; use another";
  if (NAME_PATTERN.test(text)) return undefined;
  return "isn't a valid Pulumi stack name; write 1 to 100 of the letters A to Z, a to z, digits, hyphens, underscores and dots";
}

/** Explains why a text isn't a valid name for a stack. The name may include the organization and the project. Undefined if it is valid. */
export function validateStackName(text: string): string | undefined {
  if (!/^[\w.-]+(\/[\w.-]+){1,2}$/.test(text)) return validateName(text);
  return "contains more than the stack's own name: set the project with `project`, and an organization of Pulumi Cloud with PULUMI_DEFAULT_ORGANIZATION, where the run is started";
}

export const buildNameSchema = (description: string, validate = validateName) =>
  buildTextSchema("a name")
    .regex(NAME_PATTERN, { error: ({ input }) => `${quote(input)} ${validate(String(input))}` })
    .refine((value) => !RESERVED_NAMES.has(value), {
      error: ({ input }) => `${quote(input)} is a reserved name; use another`,
    })
    .describe(description);

export const tenantNameSchema = buildTextSchema("a name")
  .regex(NAME_PATTERN, { error: ({ input }) => validateName(String(input)) ?? "" })
  .refine((value) => !RESERVED_NAMES.has(value), "is a reserved name; use another");
