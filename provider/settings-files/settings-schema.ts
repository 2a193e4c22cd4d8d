import { z } from "zod";
import { ON_DELETE } from "../model/arguments";
import { parseEntryValue, parseMailbox } from "../model/entry-value";
import { explainVipMode, LIST_MODES, VIP_LIST_MODES } from "../model/list-mode";
import { parseListPattern } from "../model/list-pattern";
import { isPublicSuffix, parseOwnDomains } from "../model/own-domains";
import { quote } from "../model/text";
import { ENTRY_SHAPE, isValidDay, VIP_SHAPE } from "./element-fields";
import {
  booleanField,
  formatChoices,
  formatFieldError,
  formatMappingError,
  integerField,
  singleLineTextField,
  textField,
} from "./field-schemas";
import { type Policy, policyRules } from "./policy-schema";
import { seenSchema, sourceRecordSchema, sourcesSchema } from "./source-schema";

export { POLICY_SUBJECTS, type Policy, type PolicySubject, policyRules } from "./policy-schema";

export const SETTINGS_VERSION = 1;

const buildParsedTextField = (
  parse: (text: string) => { ok: true } | { ok: false; reason: string },
  expected: string,
) =>
  textField(expected).check((context) => {
    const parsed = parse(context.value);
    if (!parsed.ok) context.issues.push({ code: "custom", message: parsed.reason, input: context.value });
  });

const entryValueField = buildParsedTextField(parseEntryValue, "a domain, an IP address or a mailbox").describe(
  "The domain, IP address or mailbox.",
);

const mailboxField = buildParsedTextField(parseMailbox, "a mailbox address").describe("The mailbox of the employee.");

/** The last decision to keep a declaration, and who made it. */
export const elementReviewSchema = z.strictObject(
  {
    on: textField("a date such as 2026-11-23")
      .refine((text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isValidDay(text), {
        error: (issue) => `is ${quote(issue.input)}; write a date such as 2026-11-23`,
      })
      .describe("The date (UTC) of the decision, such as 2026-11-23."),
    by: singleLineTextField("a string").describe("The person who decided."),
    reason: singleLineTextField("a string").describe("The reason to keep it.").optional(),
  },
  { error: (issue) => formatMappingError(issue.input) },
);

/** A review in a settings file. */
export type ElementReview = Readonly<z.infer<typeof elementReviewSchema>>;

/** The error for an element that is neither a text nor a mapping. */
const buildElementErrors = (expected: string) => ({
  error: (issue: { code: string; input?: unknown }) =>
    issue.code === "invalid_type"
      ? `must be ${expected}, or a mapping of keys and values, not ${quote(issue.input)}`
      : undefined,
});

const reviewField = elementReviewSchema
  .describe("The last review that kept it, and the reviewer: { on, by }. Not sent to the service.")
  .optional();

const seenField = seenSchema
  .describe("When it was in its source: { first, last }. `email-security sync` writes it. Not sent to the service.")
  .optional();

const entrySchema = z.strictObject(
  { value: entryValueField, ...ENTRY_SHAPE, reviewed: reviewField, seen: seenField },
  buildElementErrors("a domain, an IP address or a mailbox"),
);

const vipSchema = z.strictObject(
  { email: mailboxField, ...VIP_SHAPE, reviewed: reviewField, seen: seenField },
  buildElementErrors("a mailbox address"),
);

const patternsField = z.array(buildParsedTextField(parseListPattern, "a pattern such as *.partner.example"), {
  error: (issue) => formatFieldError(issue.input, "a list of patterns"),
});

const listOptionShape = {
  ignore: patternsField.describe("Entries that are never changed unless they are declared.").optional(),
  protect: patternsField.describe("Entries that must be declared, and can't be removed.").optional(),
  maxRemovals: integerField().describe("The maximum number of removals in one run.").optional(),
  maxRemovalFraction: z
    .number({ error: (issue) => formatFieldError(issue.input, "a number from 0 to 1") })
    .min(0, { error: (issue) => `is ${quote(issue.input)}; write a fraction from 0 to 1` })
    .max(1, { error: (issue) => `is ${quote(issue.input)}; write a fraction from 0 to 1, such as 0.5 for half` })
    .describe("The maximum fraction of the list that one run may remove. Default: 0.3.")
    .optional(),
  confirmRemovals: integerField()
    .describe("The exact number of intended removals, for one run that exceeds the limits.")
    .optional(),
};

const entriesOptionsSchema = z.strictObject(
  {
    mode: z
      .enum(LIST_MODES, { error: (issue) => formatFieldError(issue.input, formatChoices(LIST_MODES)) })
      .describe(
        "additive (default): undeclared entries stay unchanged. exclusive-allows: undeclared allow entries are removed. exclusive: all undeclared entries are removed.",
      )
      .optional(),
    ...listOptionShape,
    adopt: booleanField.describe("Whether existing entries with other arguments are adopted and changed.").optional(),
  },
  { error: (issue) => formatMappingError(issue.input) },
);

const vipsOptionsSchema = z.strictObject(
  {
    mode: z
      .enum(VIP_LIST_MODES, {
        error: ({ input }) => explainVipMode(input) ?? formatFieldError(input, formatChoices(VIP_LIST_MODES)),
      })
      .describe("additive (default): undeclared VIPs stay unchanged. exclusive: undeclared VIPs are removed.")
      .optional(),
    ...listOptionShape,
    onDelete: z
      .enum(ON_DELETE, { error: (issue) => formatFieldError(issue.input, formatChoices(ON_DELETE)) })
      .describe("The effect of removing a VIP: exclude (permanent) or keep (the VIP is only forgotten).")
      .optional(),
  },
  { error: (issue) => formatMappingError(issue.input) },
);

const lists = z.strictObject(
  {
    entries: entriesOptionsSchema.describe("Options of the allow/deny list.").optional(),
    vips: vipsOptionsSchema.describe("Options of the VIP list.").optional(),
  },
  { error: (issue) => formatMappingError(issue.input) },
);

/** The handling of drift in unattended runs. */
const ON_DRIFT = ["report", "revert"] as const;

/** The path of a rule or option in a settings file: `policy.requireTicket`. */
export type OptionPath =
  | "onDrift"
  | `policy.${keyof Policy}`
  | `lists.entries.${keyof z.infer<typeof entriesOptionsSchema>}`
  | `lists.vips.${keyof z.infer<typeof vipsOptionsSchema>}`;

/** The paths of all rules and options. */
export const OPTION_PATHS = [
  "onDrift",
  ...Object.keys(policyRules.shape).map((name) => `policy.${name}`),
  ...Object.keys(entriesOptionsSchema.shape).map((name) => `lists.entries.${name}`),
  ...Object.keys(vipsOptionsSchema.shape).map((name) => `lists.vips.${name}`),
] as [OptionPath, ...OptionPath[]];

function buildFileSchema<Entry extends z.ZodType, Vip extends z.ZodType>(entryElement: Entry, vipElement: Vip) {
  const listField = <Element extends z.ZodType>(element: Element, description: string) =>
    z
      .array(element, { error: (issue) => formatFieldError(issue.input, "a list, or [] for none") })
      .describe(description)
      .optional();
  const buildValuesField = (
    parse: typeof parseEntryValue | typeof parseMailbox,
    expected: string,
    description: string,
  ) => listField(buildParsedTextField(parse, expected), description);
  return z.strictObject(
    {
      version: z
        .literal(SETTINGS_VERSION, {
          error: (issue) =>
            issue.input === undefined
              ? `is missing; write \`version: ${SETTINGS_VERSION}\` as the first line`
              : `must be ${SETTINGS_VERSION}, not ${quote(issue.input)}; a later version needs a later release of email-security`,
        })
        .describe("The version of this format."),
      include: listField(
        textField("the path of a file").min(1, "is empty; write the path of a file"),
        "Files that are read first, relative to this one, such as a baseline for all tenants.",
      ),
      ownDomains: listField(
        buildParsedTextField((text) => validateOwnDomain(text), "a domain"),
        "The tenant's own domains. An entry for one of them, or for a look-alike, is rejected as risky.",
      ),
      source: sourceRecordSchema
        .describe("The source of a generated file. `email-security sync` writes it.")
        .optional(),
      sources: sourcesSchema
        .describe("Directories and feeds, by name. `email-security sync` writes their entries to sources/<name>.yaml.")
        .optional(),
      policy: policyRules.describe("The rules that a team enforces on its own settings.").optional(),
      lists: lists.describe("Options of the two lists.").optional(),
      onDrift: z
        .enum(ON_DRIFT, { error: (issue) => formatFieldError(issue.input, formatChoices(ON_DRIFT)) })
        .describe(
          "The effect of an unattended `rollout --revert-drift` on console changes: report (default) only reports them. revert reverts them.",
        )
        .optional(),
      allowedOverrides: z
        .array(z.enum(OPTION_PATHS, { error: (issue) => describeInvalidOption(issue.input) }), {
          error: (issue) =>
            formatFieldError(issue.input, "a list of rules and options, such as [policy.requireTicket]"),
        })
        .describe(
          "Rules and options that an including file may loosen. Without it, an including file may only tighten them.",
        )
        .optional(),
      remove: z
        .strictObject(
          {
            allow: buildValuesField(
              parseEntryValue,
              "a domain, an IP address or a mailbox",
              "Allow entries of an included file that are not wanted here.",
            ),
            deny: buildValuesField(
              parseEntryValue,
              "a domain, an IP address or a mailbox",
              "Deny entries of an included file that are not wanted here.",
            ),
            vips: buildValuesField(
              parseMailbox,
              "a mailbox address",
              "VIPs of an included file that are not wanted here.",
            ),
          },
          { error: (issue) => formatMappingError(issue.input) },
        )
        .describe("Entries of included files that are not wanted here.")
        .optional(),
      vips: listField(vipElement, "The VIP employees, each a mailbox or a mapping."),
      allow: listField(entryElement, "The allow entries, each a value or a mapping."),
      deny: listField(entryElement, "The deny entries, each a value or a mapping."),
    },
    { error: (issue) => (issue.code === "invalid_type" ? formatMappingError(issue.input) : undefined) },
  );
}

/** The schema of a settings file with expanded short elements: `- evil.example` becomes `- value: evil.example`. */
export const settingsFileSchema = buildFileSchema(entrySchema, vipSchema);

export type SettingsFile = Readonly<z.infer<typeof settingsFileSchema>>;

export type ListsOptions = z.infer<typeof lists>;

/** Returns the JSON Schema (draft 2020-12) of settings files, for completion and validation in editors. */
export function buildSettingsJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(
    buildFileSchema(z.union([entryValueField, entrySchema]), z.union([mailboxField, vipSchema])),
    { io: "input" },
  );
  return {
    $id: SCHEMA_ID,
    title: "Email security settings",
    description: "VIP employees and the allow/deny list of a tenant, as `email-security` reads them.",
    ...(schema as Record<string, unknown>),
  };
}

const SCHEMA_ID = `urn:pulumi-email-security:settings:${SETTINGS_VERSION}`;

function describeInvalidOption(input: unknown): string {
  return `is ${quote(input)}; write a rule of \`policy\` such as policy.requireTicket, an option of \`lists\` such as lists.entries.protect, or onDrift`;
}

function validateOwnDomain(text: string): { ok: true } | { ok: false; reason: string } {
  const parsed = parseEntryValue(text);
  if (!parsed.ok) return parsed;
  if (parsed.value.entryType !== "domain") return { ok: false, reason: `${quote(text)} isn't a domain` };
  if (isPublicSuffix(parsed.value.canonical)) {
    return {
      ok: false,
      reason: `${quote(text)} is a public suffix, under which anyone can register a domain; write your own domain in full`,
    };
  }
  return parseOwnDomains(parsed.value.canonical).ok
    ? { ok: true }
    : { ok: false, reason: `${quote(text)} isn't a domain` };
}
