import { z } from "zod";
import { isPrintable, quote } from "../../model/text";
import { PROVIDER_KINDS } from "../../resources/resource-type";
import type { Finding } from "../../settings-files/finding";
import type { FileFormat } from "../../settings-files/schema-findings";
import { buildKeyFinding, keySourceSchema } from "./key-schema";
import { labelsSchema } from "./label-schema";
import { buildNameSchema, tenantNameSchema, validateStackName } from "./name-schema";
import { notifySchema } from "./notify-schema";
import {
  booleanSchema,
  buildIntegerSchema,
  buildMappingError,
  buildTextSchema,
  buildToleranceSchema,
  formatExpectation,
  pathSchema,
} from "./value-schemas";
import { waveSchema } from "./wave-schema";

/** The version of the format of targets files. */
export const TARGETS_VERSION = 1;

const tenantFields = {
  baseUrl: buildTextSchema("the service's address")
    .describe("The service's address, such as https://mail-security.example.")
    .optional(),
  key: keySourceSchema.optional(),
  settings: pathSchema.describe("The tenant's settings file, relative to this file.").optional(),
  labels: labelsSchema.optional(),
  provider: z
    .enum(PROVIDER_KINDS, { error: ({ input }) => formatExpectation(input, PROVIDER_KINDS.join(" or ")) })
    .describe(
      "The provider of its lists: dynamic resources, or the native plugin. Default: the stack's current provider; in a new stack, dynamic.",
    )
    .optional(),
  allowInsecureHttp: booleanSchema
    .describe("Whether to allow plain http to another machine, which sends the key unencrypted.")
    .optional(),
};

const tenantSchema = z.strictObject(
  {
    ...tenantFields,
    stack: buildNameSchema("The Pulumi stack of the tenant. Default: its name.", validateStackName).optional(),
    resource: buildTextSchema("a name")
      .min(1, "is empty; write a name, or remove the line")
      .refine((text) => isPrintable(text) && text.length <= 200, "must be one line of at most 200 characters")
      .describe("The name of the TenantSettings in the stack, if it has several.")
      .optional(),
  },
  buildMappingError(),
);

const serviceSchema = z.strictObject(
  {
    requestsPerSecond: z
      .number({ error: ({ input }) => formatExpectation(input, "a number") })
      .positive({ error: ({ input }) => `is ${quote(input)}; write more than 0` })
      .max(1_000_000, { error: ({ input }) => `is ${quote(input)}; it can't be more than 1000000` })
      .describe("Requests per second, for all its tenants together.")
      .exactOptional(),
    maxConcurrent: buildIntegerSchema(1).describe("How many of its tenants are changed concurrently.").exactOptional(),
  },
  buildMappingError(),
);

const version = z
  .literal(TARGETS_VERSION, {
    error: ({ input }) =>
      input === undefined
        ? `is missing; write \`version: ${TARGETS_VERSION}\` as the first line`
        : `must be ${TARGETS_VERSION}, not ${quote(input)}; a later version needs a later release of email-security`,
  })
  .describe("The version of this format.");

const buildTenantsSchema = <Tenant extends z.ZodType>(tenantElement: Tenant) =>
  z
    .record(tenantNameSchema, tenantElement, buildMappingError("tenants by their names"))
    .describe("The tenants, by name. Missing keys come from the defaults.")
    .optional();

const defaults = z
  .strictObject(tenantFields, buildMappingError())
  .describe(
    "Keys for every tenant that does not set them: {name} is its name, {NAME} the name in capitals, for variables.",
  )
  .optional();

const buildTargetsFileSchema = <Tenant extends z.ZodType>(tenantElement: Tenant) =>
  z.strictObject(
    {
      version,
      project: buildNameSchema("The Pulumi project of all stacks.").optional(),
      include: z
        .array(pathSchema, { error: ({ input }) => formatExpectation(input, "a list, [] for none") })
        .describe("Further files with tenants and their own defaults, relative to this one.")
        .optional(),
      defaults,
      tenants: buildTenantsSchema(tenantElement),
      services: z
        .record(z.string(), serviceSchema, buildMappingError("limits by the service's address"))
        .describe("Settings that all tenants of a service address share, by address.")
        .optional(),
      notify: notifySchema.optional(),
      failureTolerance: buildToleranceSchema(0)
        .describe("How many tenants may fail in the whole rollout: a count, or a percentage.")
        .optional(),
      waves: z
        .array(waveSchema, { error: ({ input }) => formatExpectation(input, "a list of waves") })
        .min(1, "is an empty list; write waves, or remove the line for one wave of all tenants")
        .describe(
          "Which tenants are changed together, in this order. Default: one wave of all tenants, one tenant at a time.",
        )
        .optional(),
    },
    buildMappingError(),
  );

const ALIASES = {
  url: "baseUrl",
  address: "baseUrl",
  env: "environment",
  variable: "environment",
  path: "file",
  includes: "include",
  tolerance: "failureTolerance",
  concurrency: "maxConcurrent",
  label: "labels",
  matches: "match",
  percent: "risePercent",
};

const fileSchema = buildTargetsFileSchema(tenantSchema);

/** The targets file itself. Tenants without fields (`acme:`) have been expanded to `{}` before. */
export const TARGETS_FILE_FORMAT: FileFormat<TargetsFile> = {
  schema: fileSchema,
  aliases: ALIASES,
  getCustomFinding: buildSchemaFinding,
};

/** An included file. */
export const INCLUDED_FILE_FORMAT: FileFormat<TargetsFile> = {
  schema: z.strictObject({ version, defaults, tenants: buildTenantsSchema(tenantSchema) }, buildMappingError()),
  aliases: ALIASES,
  getCustomFinding: buildSchemaFinding,
};

/** A validated targets file. */
export type TargetsFile = Readonly<z.output<typeof fileSchema>>;

/** A tenant as declared in the file, or the defaults for all tenants. */
export type RawTenant = z.output<typeof tenantSchema>;

/** Builds the JSON Schema (draft 2020-12) of targets files, for completion and validation in editors. */
export function buildTenantsJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(buildTargetsFileSchema(z.union([tenantSchema, z.null()])), { io: "input" });
  return {
    $id: `urn:pulumi-email-security:tenants:${TARGETS_VERSION}`,
    title: "Email security tenants",
    description: "The tenants of a rollout and its waves, as `email-security rollout` reads them.",
    ...(schema as Record<string, unknown>),
  };
}

function buildSchemaFinding(
  issue: z.core.$ZodIssue,
  unknownKey: string | undefined,
): Pick<Finding, "code" | "message"> | undefined {
  const name = String(issue.path.at(-1));
  if (issue.code === "invalid_type" && /^(?:soak|timeout)$/.test(name)) {
    return { code: "invalid-value", message: `${name} ${issue.message}` };
  }
  return buildKeyFinding(issue, unknownKey);
}
