import { z } from "zod";
import { DEFAULT_VERDICT_SCOPE, ENTRY_TYPES, KNOWN_VERDICT_SCOPES } from "../model/assumptions";
import { parseTerm, parseTermDays } from "../model/expiry-term";
import { jsonTextField } from "../model/json-schema-builders";
import { quote } from "../model/text";
import { parseDayCell, parseScopeCell, parseTypeCell } from "./csv-cells";
import {
  EMPTY_TEXT_ERROR,
  formatChoices,
  formatFieldError,
  nonEmptyTextField,
  safeTextField,
  singleLineTextField,
  textField,
} from "./field-schemas";

/** Metadata of a field, for code that iterates over the fields of elements. */
interface ElementField {
  readonly label: string;
  /** The schema in settings files. */
  readonly schema: z.ZodType;
  /** The schema in JSON reports. Absent if the field is part of the entry's identity. */
  readonly json?: z.ZodType;
  /** Column titles in tables, in lower case and without spaces. */
  readonly columns: readonly string[];
  /** The option that sets the field in all commands that declare elements. Undefined if it has its own rules, or none. */
  readonly option: readonly [flags: string, description: string] | undefined;
  /** Parses a cell; undefined for a default value. Default: the text itself. */
  readonly parseCell?: (cell: string) => unknown;
  /** Whether only entries have the field. Default: VIPs have it too. */
  readonly isEntryOnly?: true;
  /** Whether the field stays when an entry moves to the other list. Default: it explains the entry on its list only. */
  readonly isKeptOnMove?: true;
  /** Whether the field is metadata: it isn't sent to the service and isn't part of the encoded list. */
  readonly isMetadata?: true;
}

const EXPIRES = /^(?:\d{4}-\d{2}-\d{2}|never)$/;

/** The fields of an entry or VIP in addition to its value or mailbox, in writing order. */
export const ELEMENT_FIELDS = {
  comment: {
    label: "comment",
    // Existing comments at the service may be as short as "---".
    schema: safeTextField("a string")
      .refine((text) => /[^\p{C}\p{Z}]/u.test(text), EMPTY_TEXT_ERROR)
      .describe("The reason for the entry. The service stores it and shows it in its console."),
    json: z.string(),
    option: ["--comment <text>", "Set the comment, which the service stores"],
    columns: ["comment", "comments", "reason", "note", "notes", "description", "why"],
  },
  ticket: {
    label: "ticket",
    schema: singleLineTextField("a string").describe(
      "The ticket with the request and the decision, such as INC-1042. Not sent to the service.",
    ),
    json: z.string(),
    option: ["--ticket <text>", "Set the ticket for the decision, such as INC-1042"],
    columns: ["ticket", "tickets", "ticketnumber", "incident", "change", "case"],
    isMetadata: true,
  },
  owner: {
    label: "owner",
    schema: singleLineTextField("a string").describe("The owner of the entry. Not sent to the service."),
    json: z.string(),
    option: ["--owner <name>", "Set the person who is responsible for the entry"],
    columns: ["owner", "requestedby", "requester", "responsible"],
    isKeptOnMove: true,
    isMetadata: true,
  },
  approvedBy: {
    label: "approved by",
    schema: singleLineTextField("a string").describe(
      "The second person, who reviewed the entry and agreed. Not sent to the service.",
    ),
    json: z.string(),
    option: ["--approved-by <name>", "Set the person, other than the owner, who approved the entry"],
    columns: ["approvedby", "approver", "approval"],
    isMetadata: true,
  },
  expires: {
    label: "expires",
    schema: textField('a date such as 2027-03-31, or "never"')
      .regex(EXPIRES, { error: (issue) => `is ${quote(issue.input)}; ${suggestDate(String(issue.input))}` })
      .refine((day) => !EXPIRES.test(day) || day === "never" || isValidDay(day), {
        error: (issue) => `is ${quote(issue.input)}, which isn't a valid date`,
      })
      .describe("The last day (UTC) on which it is declared, such as 2027-03-31, or never."),
    json: jsonTextField("The last day (UTC), or never."),
    option: undefined,
    columns: [
      "expires",
      "expiry",
      "expireson",
      "expiresat",
      "expiration",
      "expirationdate",
      "expirydate",
      "validuntil",
      "until",
      "enddate",
    ],
    parseCell: parseDayCell,
    isKeptOnMove: true,
    isMetadata: true,
  },
  scope: {
    label: "scope",
    schema: singleLineTextField("a string")
      .refine((scope) => !isMiscasedScope(scope), {
        error: (issue) => `is ${quote(issue.input)}; write ${quote(String(issue.input).toLowerCase())}`,
      })
      .describe(`The verdicts that the entry overrides: global or graymail. Default: ${DEFAULT_VERDICT_SCOPE}.`),
    option: undefined,
    columns: ["scope", "verdictscope"],
    parseCell: parseScopeCell,
    isEntryOnly: true,
  },
  type: {
    label: "type",
    schema: z
      .enum(ENTRY_TYPES, { error: (issue) => formatFieldError(issue.input, formatChoices(ENTRY_TYPES)) })
      .describe("The type of the value. Inferred from the value by default."),
    option: undefined,
    columns: ["type", "entrytype", "kind"],
    parseCell: parseTypeCell,
    isEntryOnly: true,
  },
  acceptRisk: {
    label: "risk accepted",
    schema: nonEmptyTextField("a string").describe(
      "The reason to accept the risk of an entry that would otherwise be rejected. Not sent to the service.",
    ),
    json: jsonTextField("The reason to accept its risk."),
    option: undefined,
    columns: ["acceptrisk", "acceptedrisk", "riskaccepted", "riskacceptance"],
    isEntryOnly: true,
  },
} as const satisfies Readonly<Record<string, ElementField>>;

type ElementFields = typeof ELEMENT_FIELDS;
export type ElementFieldName = keyof ElementFields;

export type ElementValue = z.infer<ElementFields[ElementFieldName]["schema"]>;

type FieldNameMatching<Property> = {
  [Name in ElementFieldName]: ElementFields[Name] extends Property ? Name : never;
}[ElementFieldName];

/** A metadata field, which isn't part of the entry itself. */
export type MetadataFieldName = FieldNameMatching<{ readonly isMetadata: true }>;

/** A field that a declaration has under the same name. Scope and type are part of the entry's identity instead. */
export type TextFieldName = FieldNameMatching<{ readonly json: z.ZodType }>;

type TextFields<Name extends TextFieldName> = {
  readonly [One in Name]?: z.infer<ElementFields[One]["json"]>;
};

/** The metadata of a declaration. The last day (UTC) is `2027-03-31`, or `never`. */
export type ElementMetadata = TextFields<MetadataFieldName>;

type EntryFieldName = FieldNameMatching<{ readonly isEntryOnly: true }>;

export const ELEMENT_FIELD_NAMES = Object.keys(ELEMENT_FIELDS) as readonly ElementFieldName[];

/** The names of metadata fields. */
export const METADATA_FIELD_NAMES = ELEMENT_FIELD_NAMES.filter(
  (name): name is MetadataFieldName => "isMetadata" in ELEMENT_FIELDS[name],
);

/** The names of fields that a declaration has under the same name. */
export const TEXT_FIELD_NAMES = ELEMENT_FIELD_NAMES.filter(
  (name): name is TextFieldName => "json" in ELEMENT_FIELDS[name],
);

/** The command-line options that set fields. */
export const FIELD_OPTIONS = ELEMENT_FIELD_NAMES.flatMap((name) => {
  const { option }: ElementField = ELEMENT_FIELDS[name];
  return option === undefined ? [] : [option];
});

/** The schema of an entry's fields in addition to its value. */
export const ENTRY_SHAPE = buildFieldShape(ELEMENT_FIELD_NAMES);

/** The schema of a VIP's fields in addition to its mailbox. */
export const VIP_SHAPE = buildFieldShape(
  ELEMENT_FIELD_NAMES.filter((name): name is Exclude<ElementFieldName, EntryFieldName> => !isEntryOnlyField(name)),
);

/** The schema of declared fields in JSON reports. */
export const declaredFieldsShape = buildJsonShape(TEXT_FIELD_NAMES);

/** The schema of metadata fields in JSON reports. */
export const metadataShape = buildJsonShape(METADATA_FIELD_NAMES);

function buildFieldShape<Name extends ElementFieldName>(names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, ELEMENT_FIELDS[name].schema.optional()])) as {
    [One in Name]: z.ZodOptional<ElementFields[One]["schema"]>;
  };
}

function buildJsonShape<Name extends TextFieldName>(names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, ELEMENT_FIELDS[name].json.exactOptional()])) as {
    [One in Name]: z.ZodExactOptional<ElementFields[One]["json"]>;
  };
}

export function isEntryOnlyField(name: ElementFieldName): boolean {
  return "isEntryOnly" in ELEMENT_FIELDS[name];
}

/** Whether the field stays when an entry moves to the other list. */
export function isKeptOnMove(name: TextFieldName): boolean {
  return "isKeptOnMove" in ELEMENT_FIELDS[name];
}

/** Parses the cell of a field; undefined for a default value. */
export function parseFieldCell(name: ElementFieldName, cell: string): ElementValue | undefined {
  const { parseCell }: ElementField = ELEMENT_FIELDS[name];
  return parseCell === undefined ? cell : (parseCell(cell) as ElementValue | undefined);
}

export function pickMetadata(fields: ElementMetadata): ElementMetadata {
  return pickDefined(fields, METADATA_FIELD_NAMES);
}

/** Returns labelled texts in field order. The expiry is omitted because it has its own wording. */
export function labelTextFields(
  fields: TextFields<TextFieldName>,
): readonly (readonly [label: string, text: string])[] {
  return TEXT_FIELD_NAMES.flatMap((name) => {
    const value = name === "expires" ? undefined : fields[name];
    return value === undefined ? [] : [[ELEMENT_FIELDS[name].label, String(value)]];
  });
}

/** Returns all declared fields except the identity. */
export function pickTextFields(fields: TextFields<TextFieldName>): TextFields<TextFieldName> {
  return pickDefined(fields, TEXT_FIELD_NAMES);
}

function pickDefined<From extends object, Name extends keyof From>(
  from: From,
  names: readonly Name[],
): Partial<Pick<From, Name>> {
  const picked: Partial<Pick<From, Name>> = {};
  for (const name of names) if (from[name] !== undefined) picked[name] = from[name];
  return picked;
}

/** Suggests a date instead of invalid text; a term such as 90d is converted. */
function suggestDate(value: string): string {
  const today = new Date().toISOString().slice(0, 10);
  const term = parseTermDays(value) === undefined ? undefined : parseTerm(value, today);
  return term?.ok
    ? `write the last day, counted from today: ${term.value}`
    : "write a date such as 2027-03-31, or never";
}

/** Returns whether the day exists. */
export function isValidDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function isMiscasedScope(scope: string): boolean {
  const known: readonly string[] = KNOWN_VERDICT_SCOPES;
  return !known.includes(scope) && known.includes(scope.toLowerCase());
}
