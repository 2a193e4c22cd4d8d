import { z } from "zod";
import { DEFAULT_VERDICT_SCOPE, ENTRY_TYPES, KNOWN_VERDICT_SCOPES } from "../settings/assumptions";
import { text } from "../settings/json-fields";
import { daysOfTerm, parseTerm } from "../settings/term";
import { quote } from "../settings/text";
import { dayInCell, scopeInCell, typeInCell } from "./csv-cells";
import {
  harmlessText,
  missingOr,
  oneOf,
  plainText,
  SAYS_NOTHING,
  shortText,
  shownText,
} from "./schema-words";

/** Metadata of a field, for code that iterates over the fields of elements. */
interface ElementField {
  /** The label for people. */
  readonly label: string;
  /** The schema in settings files. */
  readonly schema: z.ZodType;
  /** The schema in JSON reports. Absent if the field is part of the entry's identity. */
  readonly json?: z.ZodType;
  /** Column titles in tables, in lower case and without spaces. */
  readonly columns: readonly string[];
  /** Parses a cell; undefined for a default value. Default: the text itself. */
  readonly fromCell?: (cell: string) => unknown;
  /** Whether only entries have the field. Default: VIPs have it too. */
  readonly isOfEntries?: true;
  /** Whether the field is metadata: it isn't sent to the service and isn't part of the encoded list. */
  readonly isSaid?: true;
}

const EXPIRES = /^(?:\d{4}-\d{2}-\d{2}|never)$/;

/** The fields of an entry or VIP besides its value or mailbox, in writing order. */
export const ELEMENT_FIELDS = {
  comment: {
    label: "comment",
    // Existing comments at the service may be as short as "---".
    schema: harmlessText("a text")
      .refine((words) => /[^\p{C}\p{Z}]/u.test(words), SAYS_NOTHING)
      .describe("Why it is here. The service keeps it, and shows it in its console."),
    json: z.string(),
    columns: ["comment", "comments", "reason", "note", "notes", "description", "why"],
  },
  ticket: {
    label: "ticket",
    schema: shortText("a text").describe(
      "Where it was asked for and decided, as INC-1042. Not sent to the service.",
    ),
    json: z.string(),
    columns: ["ticket", "tickets", "ticketnumber", "incident", "change", "case"],
    isSaid: true,
  },
  owner: {
    label: "owner",
    schema: shortText("a text").describe("Who answers for it. Not sent to the service."),
    json: z.string(),
    columns: ["owner", "requestedby", "requester", "responsible"],
    isSaid: true,
  },
  approvedBy: {
    label: "approved by",
    schema: shortText("a text").describe("Who else looked at it and agreed. Not sent to the service."),
    json: z.string(),
    columns: ["approvedby", "approver", "approval"],
    isSaid: true,
  },
  expires: {
    label: "ends",
    schema: plainText('a date such as 2027-03-31, or "never"')
      .regex(EXPIRES, { error: (issue) => `is ${quote(issue.input)}; ${dayInstead(String(issue.input))}` })
      .refine((day) => !EXPIRES.test(day) || day === "never" || isDate(day), {
        error: (issue) => `is ${quote(issue.input)}, and there is no such day`,
      })
      .describe("The last day (UTC) on which it is declared, as 2027-03-31; or never."),
    json: text("The last day (UTC), or never."),
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
    fromCell: dayInCell,
    isSaid: true,
  },
  scope: {
    label: "scope",
    schema: shortText("a text")
      .refine((scope) => !isKnownInAnotherCase(scope), {
        error: (issue) => `is ${quote(issue.input)}; write ${quote(String(issue.input).toLowerCase())}`,
      })
      .describe(
        `Which verdicts the entry overrides: global or graymail. ${DEFAULT_VERDICT_SCOPE} when left out.`,
      ),
    columns: ["scope", "verdictscope"],
    fromCell: scopeInCell,
    isOfEntries: true,
  },
  type: {
    label: "type",
    schema: z
      .enum(ENTRY_TYPES, { error: (issue) => missingOr(issue.input, oneOf(ENTRY_TYPES)) })
      .describe("What the value is. Inferred from it when left out."),
    columns: ["type", "entrytype", "kind"],
    fromCell: typeInCell,
    isOfEntries: true,
  },
  acceptRisk: {
    label: "risk accepted",
    schema: shownText("a text").describe(
      "Why an entry that is refused as risky is meant all the same. Not sent to the service.",
    ),
    json: text("Why its risk is accepted."),
    columns: ["acceptrisk", "acceptedrisk", "riskaccepted", "riskacceptance"],
    isOfEntries: true,
  },
} as const satisfies Readonly<Record<string, ElementField>>;

type Fields = typeof ELEMENT_FIELDS;
export type ElementFieldName = keyof Fields;

/** The value of a field in a settings file. */
export type ElementValue = z.infer<Fields[ElementFieldName]["schema"]>;

type NameWith<Property> = {
  [Name in ElementFieldName]: Fields[Name] extends Property ? Name : never;
}[ElementFieldName];

/** A metadata field, which isn't part of the entry itself. */
export type SaidFieldName = NameWith<{ readonly isSaid: true }>;

/** A field that a declaration has under the same name. Scope and type are part of the entry's identity instead. */
export type TextFieldName = NameWith<{ readonly json: z.ZodType }>;

type Texts<Name extends TextFieldName> = { readonly [One in Name]?: z.infer<Fields[One]["json"]> };

/** The metadata of a declaration. The last day (UTC) is `2027-03-31`, or `never`. */
export type SaidTexts = Texts<SaidFieldName>;

type EntryFieldName = NameWith<{ readonly isOfEntries: true }>;

export const ELEMENT_FIELD_NAMES = Object.keys(ELEMENT_FIELDS) as readonly ElementFieldName[];

/** The names of metadata fields. */
export const SAID_FIELD_NAMES = ELEMENT_FIELD_NAMES.filter(
  (name): name is SaidFieldName => "isSaid" in ELEMENT_FIELDS[name],
);

/** The names of fields that a declaration has under the same name. */
export const TEXT_FIELD_NAMES = ELEMENT_FIELD_NAMES.filter(
  (name): name is TextFieldName => "json" in ELEMENT_FIELDS[name],
);

/** The schema of an entry's fields besides its value. */
export const ENTRY_SHAPE = shapeOf(ELEMENT_FIELD_NAMES);

/** The schema of a VIP's fields besides its mailbox. */
export const VIP_SHAPE = shapeOf(
  ELEMENT_FIELD_NAMES.filter((name): name is Exclude<ElementFieldName, EntryFieldName> => !isOfEntries(name)),
);

/** The schema of declared fields in JSON reports. */
export const declaredTexts = jsonOf(TEXT_FIELD_NAMES);

/** The schema of metadata fields in JSON reports. */
export const saidTexts = jsonOf(SAID_FIELD_NAMES);

function shapeOf<Name extends ElementFieldName>(names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, ELEMENT_FIELDS[name].schema.optional()])) as {
    [One in Name]: z.ZodOptional<Fields[One]["schema"]>;
  };
}

function jsonOf<Name extends TextFieldName>(names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, ELEMENT_FIELDS[name].json.exactOptional()])) as {
    [One in Name]: z.ZodExactOptional<Fields[One]["json"]>;
  };
}

export function isOfEntries(name: ElementFieldName): boolean {
  return "isOfEntries" in ELEMENT_FIELDS[name];
}

/** Parses the cell of a field; undefined for a default value. */
export function valueInCell(name: ElementFieldName, cell: string): ElementValue | undefined {
  const { fromCell }: ElementField = ELEMENT_FIELDS[name];
  return fromCell === undefined ? cell : (fromCell(cell) as ElementValue | undefined);
}

/** Returns the metadata of a declaration. */
export function saidOf(one: SaidTexts): SaidTexts {
  return pick(one, SAID_FIELD_NAMES);
}

/** Returns labelled texts in field order. The expiry is omitted because it has its own wording. */
export function factsSaid(one: Texts<TextFieldName>): readonly (readonly [label: string, text: string])[] {
  return TEXT_FIELD_NAMES.flatMap((name) => {
    const said = name === "expires" ? undefined : one[name];
    return said === undefined ? [] : [[ELEMENT_FIELDS[name].label, String(said)]];
  });
}

/** Returns all declared fields besides the identity. */
export function textsOf(one: Texts<TextFieldName>): Texts<TextFieldName> {
  return pick(one, TEXT_FIELD_NAMES);
}

function pick<From extends object, Name extends keyof From>(
  from: From,
  names: readonly Name[],
): Partial<Pick<From, Name>> {
  const picked: Partial<Pick<From, Name>> = {};
  for (const name of names) if (from[name] !== undefined) picked[name] = from[name];
  return picked;
}

/** Suggests a date instead of invalid text; a term such as 90d is converted. */
function dayInstead(written: string): string {
  const today = new Date().toISOString().slice(0, 10);
  const term = daysOfTerm(written) === undefined ? undefined : parseTerm(written, today);
  return term?.ok
    ? `write the last day: ${term.value}, counted from today`
    : "write a date as 2027-03-31, or never";
}

/** Returns whether the day exists. */
export function isDate(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function isKnownInAnotherCase(scope: string): boolean {
  const known: readonly string[] = KNOWN_VERDICT_SCOPES;
  return !known.includes(scope) && known.includes(scope.toLowerCase());
}
